// Any bytes as a chat template: an Error or a text, within the limits.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  const std::vector<slip::ChatMessage> messages = {{"user", "hello {{ x }}\n"},
                                                   {"assistant", "\xFF \u00E9"}};
  try {
    const auto chat = slip::ChatTemplate::parse(source, "fuzz");
    chat.render(messages, true);
  } catch (const slip::Error&) {
    // The promise: this and nothing else.
  }
  return 0;
}
