#include "text/chat_template.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/testing/template_golden.h"

namespace slip {
namespace {

using nlohmann::ordered_json;
using test::conversation_of;
using test::golden_json;
using test::golden_text;

const ordered_json& golden() {
  static const ordered_json file = golden_json("chat_template.json");
  return file;
}
const ordered_json& families() {
  static const ordered_json file = golden_json("chat_template_families.json");
  return file;
}

std::string render(const std::string& jinja, const Conversation& conversation = {}) {
  return ChatTemplate::parse(jinja, "test.jinja").render(conversation).text;
}

// The error that `jinja` ends in.
Error error_of(const std::string& jinja, const Conversation& conversation = {}) {
  try {
    const std::string text = render(jinja, conversation);
    ADD_FAILURE() << jinja << " gives " << text;
    return {ErrorCode::kDevice, "none"};
  } catch (const Error& error) {
    return error;
  }
}

// What a conversation gives: its text, or null where it is refused.
ordered_json outcome_of(const std::string& jinja, const Conversation& conversation) {
  try {
    return render(jinja, conversation);
  } catch (const Error&) {
    return nullptr;
  }
}

TEST(ChatTemplate, RendersConversationsAsTheReferenceLibraryDoes) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) /
                     "models/tiny-coder/chat_template.jinja");
  const std::string jinja(std::istreambuf_iterator<char>(file), {});
  const auto chat = ChatTemplate::parse(jinja, "tiny");
  for (const auto& test : golden()["renderings"]) {
    std::vector<ChatMessage> messages;
    for (const auto& pair : test["messages"]) messages.push_back({pair[0], pair[1]});
    EXPECT_EQ(chat.render(to_conversation(messages, test["add_generation_prompt"])).text,
              test["text"]);
  }
}

TEST(ChatTemplate, RendersTemplatesOfEveryFamilyAsTransformersDoes) {
  const auto& conversations = families()["conversations"];
  ASSERT_GE(families()["renderings"].size(), 12U);
  ASSERT_GE(conversations.size(), 10U);
  for (const auto& rendering : families()["renderings"]) {
    const std::string name = rendering["template"];
    const std::string jinja = golden_text("templates/" + name);
    for (size_t i = 0; i < conversations.size(); ++i) {
      EXPECT_EQ(outcome_of(jinja, conversation_of(conversations[i])), rendering["texts"][i])
          << name << ", conversation " << i;
    }
  }
}

TEST(ChatTemplate, RendersTheSameBytesTwice) {
  const auto chat = ChatTemplate::parse(golden_text("templates/hermes.jinja"), "hermes");
  const Conversation conversation = conversation_of(families()["conversations"][5]);
  const Prompt first = chat.render(conversation);
  const Prompt second = chat.render(conversation);
  EXPECT_EQ(first.text, second.text);
  EXPECT_EQ(first.untrusted, second.untrusted);
}

TEST(ChatTemplate, EvaluatesSnippetsAsJinja2Does) {
  const Conversation conversation = conversation_of(golden()["snippet_conversation"]);
  for (const auto& test : golden()["snippets"]) {
    EXPECT_EQ(outcome_of(test["template"], conversation), test["text"]) << test["template"];
  }
}

TEST(ChatTemplate, FailsWhereJinja2Fails) {
  const Conversation conversation = conversation_of(golden()["snippet_conversation"]);
  for (const auto& source : golden()["failing"]) {
    const ErrorCode code = error_of(source, conversation).code();
    EXPECT_TRUE(code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupportedModel)
        << source;
  }
}

TEST(ChatTemplate, ReportsWhatTheTemplateRaisesWithItsLine) {
  EXPECT_STREQ(error_of("\n{{ raise_exception('roles must alternate') }}").what(),
               "test.jinja:2: roles must alternate");
}

TEST(ChatTemplate, RepairsContentThatIsNoUtf8) {
  const std::vector<ChatMessage> messages = {{"user", "a\xFF"}};
  EXPECT_EQ(render("{{ messages[0].content }}", to_conversation(messages, true)), "a\uFFFD");
}

TEST(ChatTemplate, ShowsTheTimeItIsGiven) {
  Conversation conversation;
  conversation.now = std::chrono::local_days(std::chrono::year(2024) / 2 / 29) +
                     std::chrono::hours(23) + std::chrono::seconds(5);
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y %H:%M:%S %j') }}", conversation),
            "29 Feb 2024 23:00:05 060");
}

TEST(ChatTemplate, RefusesByNameAndLineWhatItDoesNotImplement) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n\n{% include 'x' %}", "test.jinja:3: statement 'include'"},
      {"{% import 'x' as y %}", "statement 'import'"},
      {"{% from 'x' import y %}", "statement 'from'"},
      {"{% extends 'x' %}", "statement 'extends'"},
      {"{% block x %}{% endblock %}", "statement 'block'"},
      {"{% do x %}", "statement 'do'"},
      {"{% autoescape true %}{% endautoescape %}", "statement 'autoescape'"},
      {"{{ 1 | pprint }}", "filter 'pprint'"},
      {"{{ [1] | map('pprint') | list }}", "filter 'pprint'"},
      {"{{ [1] | select('nonsense') | list }}", "test 'nonsense'"},
      {"{{ 1 is filter }}", "test 'filter'"},
      {"{{ 'a'.encode() }}", "method 'encode'"},
      {"{{ 'a'.encode }}", "'encode' of a string"},
      {"{{ {}.fromkeys }}", "'fromkeys' of a mapping"},
      {"{{ cycler('a') }}", "function 'cycler'"},
      {"{{ range(3) }}", "printing a range"},
      {"{{ 9223372036854775807 + 1 }}", "an integer beyond 64 bits"},
      {"{{ -9223372036854775807 - 2 }}", "an integer beyond 64 bits"},
      {"{{ 9223372036854775807 * 2 }}", "an integer beyond 64 bits"},
      {"{{ 10 ** 19 }}", "an integer beyond 64 bits"},
      {"{{ (0 - 9223372036854775807 - 1) // -1 }}", "an integer beyond 64 bits"},
      {"{{ (0 - 9223372036854775807 - 1) | abs }}", "an integer beyond 64 bits"},
      {"{{ '9223372036854775808' | int }}", "an integer beyond 64 bits"},
      {"{{ 9007199254740993 / 2 }}", "a division of integers beyond 53 bits"},
      {"{{ (-8) ** 0.5 }}", "a complex number"},
      {"{{ 99999999999999999999 }}", "number '99999999999999999999'"},
      {"{{ 0x10 }}", "number '0x'"},
      {"{{ 1_000 }}", "number '1_'"},
      {"{{ '\\N{DASH}' }}", "escape '\\N'"},
      {"{{ missing | default(nothing='x') }}", "filter 'default' with an argument 'nothing'"},
      {"{{ 'a' | default(1, 2, 3) }}", "filter 'default' with 3 arguments"},
      {"{{ 'a' | trim('b', chars='c') }}", "two arguments 'chars'"},
      {"{{ 'a' | replace('b') }}", "filter 'replace' with 1 arguments"},
      {"{{ dict(*x) }}", "'*' before an argument"},
      {"{{ dict(**x) }}", "'**' before an argument"},
      {"{{ 'a'[1, 2] }}", "a subscript with several parts"},
      {"{{ '%(a)s' % {'a': 1} }}", "format '%(name)'"},
      {"{{ '%c' % 65 }}", "format '%c'"},
      {"{{ '%5000d' % 1 }}", "a format field wider than 1000"},
      {"{{ '{:>5}'.format(1) }}", "format field '{:>5}'"},
      {"{{ strftime_now('%Q') }}", "time format '%Q'"},
      {"{{ ('a' | e).replace('a', 'b') }}", "this method of an escaped string"},
      {"{{ ('a' | e) % 1 }}", "'%' of an escaped string"},
      {"{% set n = namespace() %}{% set n.n = n %}", "a namespace inside of a namespace"},
      {"{% set n = namespace() %}{{ namespace(a=[n]) }}", "a list inside of a namespace"},
      {"{% macro f() %}{% endmacro %}{% set n = namespace(f=f) %}",
       "a macro inside of a namespace"},
      {"{% set f | d(g, true) %}{% macro g() %}{% endmacro %}{% endset %}",
       "'set' of a block that gives a macro"},
      {"{% macro f(caller) %}{% endmacro %}", "a parameter named 'caller'"},
      {"{{ {1: 2}.keys() == {1: 2}.keys() }}", "'==' between views of mappings"},
      {"{{ 1 is sameas 1 }}", "'sameas' between an integer and an integer"},
      {"{{ 1.5 | round(-1) }}", "round to -1 decimals"},
      {"{{ '10' | int(0, 16) }}", "filter 'int' with another base than 10"},
      {"{{ '\u00BD'.isdigit() }}", "isdigit of a number that is no digit"},
  };
  for (const auto& [source, words] : cases) {
    const Error error = error_of(source);
    EXPECT_EQ(error.code(), ErrorCode::kUnsupportedModel) << source;
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(ChatTemplate, RefusesWhatIsNoJinja) {
  for (const char* source :
       {"{{",
        "{% if true %}",
        "{% if %}{% endif %}",
        "{% endif %}",
        "{% else %}",
        "{{ 1 + }}",
        "{{ 'a }}",
        "{# x",
        "{{ a b }}",
        "{% for in x %}{% endfor %}",
        "{{ ) }}",
        "{{ (1] }}",
        "{{ '\\x4' }}",
        "{{ '\\ud800' }}",
        "{{ $ }}",
        "{{ 01 }}",
        "{% set = 1 %}",
        "{{ a. }}",
        "{% if true %}{% endfor %}",
        "{% %}",
        "{{ }}",
        "{{ and }}",
        "{% raw %}x",
        "{% break %}",
        "{% for x in y %}{% macro f() %}{% continue %}{% endmacro %}{% endfor %}",
        "{% set true = 1 %}",
        "{% for loop in [1] %}{% endfor %}",
        "{% for n.x in [1] %}{% endfor %}",
        "{% macro f(a=1, b) %}{% endmacro %}",
        "{% call 5 %}{% endcall %}",
        "{{ f(a=1, 2) }}",
        "{{ {1} }}",
        "{{ x is defined is none }}",
        "{{ 'a' if }}",
        "{% filter %}{% endfilter %}",
        "{% with a %}{% endwith %}"}) {
    EXPECT_EQ(error_of(source).code(), ErrorCode::kCorruptFile) << source;
  }
}

TEST(ChatTemplate, RefusesCaseMappingsThatAreNotOneToOne) {
  EXPECT_EQ(error_of("{{ 'stra\u00DFe' | upper }}").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("{{ '\u039F\u03A3' | lower }}").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("{{ '\u0130' | lower }}").code(), ErrorCode::kInvalidArgument);
}

TEST(ChatTemplate, RefusesConversationsThatAreNone) {
  const auto refusal = [](auto change) {
    Conversation conversation;
    change(conversation);
    return std::string(error_of("", conversation).what());
  };
  EXPECT_EQ(refusal([](Conversation& c) { c.messages = "x"; }),
            "messages: found string, wanted an array of messages");
  EXPECT_EQ(refusal([](Conversation& c) { c.messages = {1}; }),
            "messages: found number, wanted an object");
  EXPECT_EQ(refusal([](Conversation& c) { c.variables = 1; }),
            "variables: found number, wanted an object");
  EXPECT_EQ(refusal([](Conversation& c) {
              c.variables = {{"messages", 1}};
            }),
            "variables: found 'messages', which has a field of its own");
  EXPECT_EQ(refusal([](Conversation& c) {
              c.tools = {{{"n", 18446744073709551615U}}};
            }),
            "tools: found integer 18446744073709551615, wanted 64 bits with a sign");
  EXPECT_EQ(refusal([](Conversation& c) {
              c.documents = nullptr;
              for (int i = 0; i < 100; ++i) c.documents = ordered_json::array({c.documents});
            }),
            "documents: found values nested deeper than 64");
}

TEST(SpecialTokenVariables, AreTheStringsOfTheFile) {
  const auto config = nlohmann::json::parse(
      R"({"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
          "pad_token": null, "other": "x"})");
  EXPECT_EQ(special_token_variables(config),
            ordered_json::parse(R"({"bos_token": "<s>", "eos_token": "</s>"})"));
  EXPECT_EQ(special_token_variables(nlohmann::json(1)), ordered_json::object());
}

}  // namespace
}  // namespace slip
