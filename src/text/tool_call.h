// A tool call as the model wrote it, and what the readers of its two spellings have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace slip {

inline constexpr std::string_view kToolCallBegin = "<tool_call>";
inline constexpr std::string_view kToolCallEnd = "</tool_call>";

inline constexpr size_t kToolNameBytesMax = 256;      // of a function or a parameter
inline constexpr size_t kToolCallBytesMax = 1 << 20;  // with its tags; a longer one is text

struct ToolCall {
  std::string name;       // 1..kToolNameBytesMax bytes of UTF-8
  std::string arguments;  // JSON text of one object
};

// What a reader says about a text that may still grow.
enum class CallStatus {
  kNeedsMore,
  kComplete,  // position() is behind the last tag
  kBroken,    // no call begins like this; position() is where the first thing stands that is wrong
};

}  // namespace slip
