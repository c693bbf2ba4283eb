// JSON that others wrote: parsed with bounds on depth and size, and no key given twice.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace slip {

inline constexpr int kJsonDepthMax = 64;
// Far above any model's index or vocabulary. It bounds memory, too: a value costs about 100 bytes
// at worst, whatever the text spends on it.
inline constexpr size_t kJsonValuesMax = 4'000'000;

// The value of `text`, in one pass: as much memory as the value. Throws Error{kCorruptFile} with
// `origin` and the reason: not JSON in UTF-8, nested deeper than kJsonDepthMax, more than
// kJsonValuesMax values, or an object that gives a key twice (readers disagree about which one
// counts).
nlohmann::json parse_json(std::string_view text, const std::string& origin);

// The text of a value that may hold names as the system gives them: bytes that are not UTF-8 become
// U+FFFD, where dump() would throw.
//   indent  as of dump(); -1: one line
template <class Json>
std::string to_text(const Json& value, int indent = -1) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

// `text`, which a file supplied, in JSON quotes and of bounded length: fit for one line of an error
// message.
std::string quote(std::string_view text);

}  // namespace slip
