// Any bytes as a chat template: an Error or a text within the limits, whose origins lie inside of
// it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "text/chat_template.h"

namespace {

slip::Conversation conversation() {
  slip::Conversation conversation;
  conversation.messages = nlohmann::ordered_json::parse(
      R"([{"role": "user", "content": "hello {{ x }}\n"},
          {"role": "assistant", "content": "\u00e9", "tool_calls": [{"function":
            {"name": "f", "arguments": {"a": 1.5, "b": [true, null]}}}]}])");
  conversation.tools = nlohmann::ordered_json::parse(R"([{"function": {"name": "f"}}])");
  conversation.variables = {{"bos_token", "<s>"}, {"enable_thinking", false}};
  return conversation;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const slip::Conversation fixed = conversation();
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  try {
    const auto chat = slip::ChatTemplate::parse(source, "fuzz");
    const slip::Prompt prompt = chat.render(fixed);
    size_t end = 0;
    for (const slip::ByteRange& range : prompt.untrusted) {
      if (range.begin < end || range.begin >= range.end || range.end > prompt.text.size()) abort();
      end = range.end;
    }
  } catch (const slip::Error&) {
    // The promise: this and nothing else.
  }
  return 0;
}
