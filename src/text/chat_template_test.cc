#include "text/chat_template.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace slip {
namespace {

using nlohmann::json;

std::string read_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

const json& golden() {
  static const json file = json::parse(read_file("tests/golden/chat_template.json"));
  return file;
}

std::vector<ChatMessage> messages_of(const json& pairs) {
  std::vector<ChatMessage> messages;
  for (const json& pair : pairs) messages.push_back({pair[0], pair[1]});
  return messages;
}

std::string render(const std::string& jinja, const std::vector<ChatMessage>& messages = {}) {
  return ChatTemplate::parse(jinja, "test.jinja").render(messages, true);
}

// The error that `jinja` ends in.
Error error_of(const std::string& jinja) {
  try {
    const std::string text = render(jinja);
    ADD_FAILURE() << jinja << " gives " << text;
    return {ErrorCode::kDevice, "none"};
  } catch (const Error& error) {
    return error;
  }
}

TEST(ChatTemplate, RendersConversationsAsTheReferenceLibraryDoes) {
  const auto chat = ChatTemplate::parse(read_file("models/tiny-coder/chat_template.jinja"), "tiny");
  for (const json& test : golden()["renderings"]) {
    EXPECT_EQ(chat.render(messages_of(test["messages"]), test["add_generation_prompt"]),
              test["text"]);
  }
}

TEST(ChatTemplate, EvaluatesSnippetsAsJinja2Does) {
  const auto messages = messages_of(golden()["snippet_messages"]);
  for (const json& test : golden()["snippets"]) {
    EXPECT_EQ(render(test["template"], messages), test["text"]) << test["template"];
  }
}

TEST(ChatTemplate, FailsWhereJinja2Fails) {
  for (const json& source : golden()["failing"]) {
    EXPECT_EQ(error_of(source).code(), ErrorCode::kInvalidArgument) << source;
  }
}

TEST(ChatTemplate, ReportsWhatTheTemplateRaisesWithItsLine) {
  EXPECT_STREQ(error_of("\n{{ raise_exception('roles must alternate') }}").what(),
               "test.jinja:2: roles must alternate");
}

TEST(ChatTemplate, RepairsContentThatIsNoUtf8) {
  EXPECT_EQ(render("{{ messages[0].content }}", {{"user", "a\xFF"}}), "a\uFFFD");
}

TEST(ChatTemplate, RefusesByNameAndLineWhatItDoesNotImplement) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\n\n{% macro f() %}{% endmacro %}", "test.jinja:3: statement 'macro'"},
      {"{% raw %}{{ % }}{% endraw %}", "statement 'raw'"},
      {"{{ 1 | tojson }}", "filter 'tojson'"},
      {"{{ 1 is divisibleby 3 }}", "test 'divisibleby'"},
      {"{{ 'a'.split() }}", "method 'split'"},
      {"{{ range(3) }}", "function 'range'"},
      {"{{ 2 * 3 }}", "operator '*'"},
      {"{{ 'a' if true else 'b' }}", "'if' behind an expression"},
      {"{{ messages[1:] }}", "a slice"},
      {"{{ {'a': 1} }}", "a mapping in braces"},
      {"{{ (1, 2) }}", "a tuple"},
      {"{{ 1.5 }}", "number '1.5'"},
      {"{{ 99999999999999999999 }}", "number '99999999999999999999'"},
      {"{{ '\\N{DASH}' }}", "escape '\\N'"},
      {"{{ missing | default(value='x') }}", "an argument by name"},
      {"{{ 'a' | default(1, 2, 3) }}", "filter 'default' with 3 arguments"},
      {"{% for a, b in x %}{% endfor %}", "'for' with several names"},
      {"{% for a in x if a %}{% endfor %}", "'if' behind an expression"},
      {"{% for a in x %}{% else %}{% endfor %}", "'for' with 'else'"},
      {"{% for a in x %}{{ loop.previtem }}{% endfor %}", "'loop.previtem'"},
      {"{% for a in x %}{{ loop }}{% endfor %}", "'loop' without a field"},
      {"{% set a.b = 1 %}", "'set' of anything but one name"},
      {"{% set a %}x{% endset %}", "'set' of a block"},
      {"{{ bos_token }}", "variable 'bos_token'"},
      {"{{ messages[0].role() }}", "method 'role'"},
  };
  for (const auto& [source, words] : cases) {
    const Error error = error_of(source);
    EXPECT_EQ(error.code(), ErrorCode::kUnsupportedModel) << source;
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
  }
}

TEST(ChatTemplate, RefusesWhatIsNoJinja) {
  for (const char* source : {"{{",
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
                             "{{ '\\x4' }}",
                             "{{ '\\ud800' }}",
                             "{{ $ }}",
                             "{{ 01 }}",
                             "{% set = 1 %}",
                             "{{ a. }}",
                             "{% if true %}{% endfor %}",
                             "{% %}",
                             "{{ }}",
                             "{{ and }}"}) {
    EXPECT_EQ(error_of(source).code(), ErrorCode::kCorruptFile) << source;
  }
}

TEST(ChatTemplate, RefusesCaseMappingsThatAreNotOneToOne) {
  EXPECT_EQ(error_of("{{ 'stra\u00DFe' | upper }}").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(error_of("{{ '\u039F\u03A3' | lower }}").code(), ErrorCode::kInvalidArgument);
}

TEST(ChatTemplate, RefusesIntegersBeyond64Bits) {
  EXPECT_EQ(error_of("{{ 9223372036854775807 + 1 }}").code(), ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace slip
