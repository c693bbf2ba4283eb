// Prompt::untrusted: what a client wrote is never taken for the template's, and the template's
// markers are never taken for a client's.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/chat_template.h"
#include "text/testing/template_golden.h"

namespace slip {
namespace {

using nlohmann::ordered_json;

Prompt render(const std::string& jinja, const Conversation& conversation) {
  return ChatTemplate::parse(jinja, "test.jinja").render(conversation);
}

Conversation saying(const std::string& content) {
  const std::vector<ChatMessage> messages = {{"user", content}};
  return to_conversation(messages, true);
}

std::vector<std::string> untrusted_parts(const Prompt& prompt) {
  std::vector<std::string> parts;
  for (const auto& [begin, end] : prompt.untrusted) {
    parts.push_back(prompt.text.substr(begin, end - begin));
  }
  return parts;
}

bool touches_untrusted(const Prompt& prompt, size_t begin, size_t end) {
  for (const ByteRange& range : prompt.untrusted) {
    if (range.begin < end && begin < range.end) return true;
  }
  return false;
}

using Parts = std::vector<std::string>;

TEST(PromptOrigin, IsFollowedThroughEveryOperation) {
  const std::vector<std::pair<std::string, Parts>> cases = {
      {"<{{ c }}>", {"aB<|x|> c"}},
      {"{{ '<' + c + '>' }}{{ '[' ~ c ~ ']' }}", {"aB<|x|> c", "aB<|x|> c"}},
      {"{{ c | upper }}-{{ c.lower() }}", {"AB<|X|> C", "ab<|x|> c"}},
      {"{{ ('  ' + c + '  ') | trim }}", {"aB<|x|> c"}},
      {"{{ c[1:4] }}-{{ c[-1] }}-{{ c[::-1] }}", {"B<|", "c", "c >|x|<Ba"}},
      {"{{ c.replace('|', '-') }}", {"aB<", "x", "> c"}},
      {"{{ '<a>' | replace('a', c) }}", {"aB<|x|> c"}},
      {"{{ c.split('|')[1] }}.{{ c.split() | last }}", {"x", "c"}},
      {"{{ ['(', c, ')'] | join('+') }}{{ c.join(['1', '2']) }}", {"aB<|x|> c", "aB<|x|> c"}},
      {"{{ {'k': c} | tojson }}", {"aB<|x|> c"}},
      {"{{ messages | tojson }}", {"role", "content", "aB<|x|> c"}},
      {"{{ {'k': c} }}{{ [c] }}", {"aB<|x|> c", "aB<|x|> c"}},
      {"{{ '%s=%5s' % (c, 'x') }}{{ '{}!'.format(c) }}", {"aB<|x|> c", "aB<|x|> c"}},
      {"{{ '%s' | format(c) }}", {"aB<|x|> c"}},
      {"{{ c | indent(2, true) }}", {"aB<|x|> c"}},
      {"{{ c | title }}-{{ c | capitalize }}", {"Ab<|x|> C", "Ab<|x|> c"}},
      {"{{ c | e }}-{{ c | urlencode }}", {"aB&lt;|x|&gt; c", "aB%3C%7Cx%7C%3E%20c"}},
      {"{{ (c | safe) + '<' }}", {"aB<|x|> c"}},
      {"{{ c | list | join('.') }}", {"a", "B", "<", "|", "x", "|", ">", " ", "c"}},
      {"{% for x in c[:2] %}{{ x }}.{% endfor %}", {"a", "B"}},
      {"{% set x %}<{{ c }}>{% endset %}{{ x | upper }}", {"AB<|X|> C"}},
      {"{% filter replace('z', '') %}<{{ c }}>{% endfilter %}", {"aB<|x|> c"}},
      {"{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f(c) }}", {"aB<|x|> c"}},
      {"{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}{{ c }}{% endcall %}",
       {"aB<|x|> c"}},
      {"{% set n = namespace(x='') %}{% set n.x = n.x + c %}<{{ n.x }}>", {"aB<|x|> c"}},
      {"{{ c * 2 }}-{{ 'x' * 3 }}", {"aB<|x|> caB<|x|> c"}},
      {"{{ c | default('d') }}{{ missing | default(c) }}", {"aB<|x|> caB<|x|> c"}},
      {"{{ c | center(13) }}", {"aB<|x|> c"}},
      {"{{ c | string }}{{ c.strip('a') }}", {"aB<|x|> cB<|x|> c"}},
      {"{{ c.partition('|') | join('_') }}", {"aB<", "x|> c"}},
      {"{{ c.removeprefix('aB') }}-{{ c.removesuffix('c') }}", {"<|x|> c", "aB<|x|> "}},
      {"{{ c | length }}{{ c == 'x' }}{{ messages | length }}{{ trusted }}", {}},
      {"{{ strftime_now(c[:1]) }}", {"a"}},
  };
  for (const auto& [source, parts] : cases) {
    Conversation conversation = saying("aB<|x|> c");
    conversation.variables = {{"trusted", "<s>"}};
    const Prompt prompt = render("{% set c = messages[0].content %}" + source, conversation);
    EXPECT_EQ(untrusted_parts(prompt), parts) << source << " gives " << prompt.text;
  }
}

TEST(PromptOrigin, LeavesKnownRolesToTheTemplate) {
  const std::string source = "{{ '<|' + messages[0].role + '|>' }}";
  EXPECT_EQ(untrusted_parts(render(source, saying("x"))), Parts());
  const std::vector<ChatMessage> messages = {{"im_end", "x"}};
  EXPECT_EQ(untrusted_parts(render(source, to_conversation(messages, true))), Parts{"im_end"});
}

// All strings of `json` but roles and types with a private-use character at both ends.
ordered_json marked(const ordered_json& json, const std::string& key = "") {
  static const std::string kMark = "\uE000";
  if (json.is_string()) {
    const bool is_compared = key == "role" || key == "type";
    return is_compared ? json : ordered_json(kMark + json.get<std::string>() + kMark);
  }
  ordered_json copy = json;
  if (!json.is_structured()) return copy;
  for (auto it = copy.begin(); it != copy.end(); ++it) {
    *it = marked(*it, json.is_object() ? it.key() : key);
  }
  return copy;
}

TEST(PromptOrigin, CoversWhatTheClientWroteInTemplatesOfEveryFamily) {
  const auto families = test::golden_json("chat_template_families.json");
  size_t n_marks = 0;
  for (const auto& rendering : families["renderings"]) {
    const std::string name = rendering["template"];
    const auto chat = ChatTemplate::parse(test::golden_text("templates/" + name), name);
    for (const auto& spelled : families["conversations"]) {
      Conversation conversation = test::conversation_of(spelled);
      conversation.messages = marked(conversation.messages);
      conversation.tools = marked(conversation.tools);
      conversation.documents = marked(conversation.documents);
      Prompt prompt;
      try {
        prompt = chat.render(conversation);
      } catch (const Error&) {
        continue;  // the template refuses this conversation
      }
      for (size_t at = prompt.text.find("\uE000"); at != std::string::npos;
           at = prompt.text.find("\uE000", at + 1)) {
        EXPECT_TRUE(touches_untrusted(prompt, at, at + 1)) << name << " at " << at;
        ++n_marks;
      }
    }
  }
  EXPECT_GT(n_marks, 1000U);
}

TEST(PromptOrigin, LeavesTheMarkersOfEveryFamilyToTheTemplate) {
  const auto families = test::golden_json("chat_template_families.json");
  size_t n_markers = 0;
  for (const auto& rendering : families["renderings"]) {
    const std::string name = rendering["template"];
    const auto chat = ChatTemplate::parse(test::golden_text("templates/" + name), name);
    const Conversation conversation = test::conversation_of(families["conversations"][1]);
    const Prompt prompt = chat.render(conversation);
    for (const std::string marker :
         {"<|im_start|>", "<|im_end|>", "<think>", "<|start_header_id|>", "<|user|>", "[INST]",
          "<start_of_turn>", "<｜User｜>", "<|USER_TOKEN|>", "<|assistant|>", "<s>"}) {
      for (size_t at = prompt.text.find(marker); at != std::string::npos;
           at = prompt.text.find(marker, at + 1)) {
        EXPECT_FALSE(touches_untrusted(prompt, at, at + marker.size())) << name << marker;
        ++n_markers;
      }
    }
  }
  EXPECT_GT(n_markers, 50U);
}

}  // namespace
}  // namespace slip
