// JSON from disk or memory with a depth limit.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace slip {

inline constexpr int kJsonDepthMax = 64;
inline constexpr size_t kJsonValuesMax = 4'000'000;  // far above any model's index or configuration
inline constexpr size_t kJsonFileBytesMax = size_t{256} << 20;

// The whole file. Throws Error{kNotFound} or Error{kCorruptFile} (not a regular file, larger than
// kJsonFileBytesMax, shortened while it was read) with the path.
std::string read_text_file(const std::filesystem::path& path);

// Throws Error{kCorruptFile} with `origin` and the reason: not JSON in UTF-8, nested deeper than
// kJsonDepthMax, more than kJsonValuesMax values, or an object that gives a key twice (readers
// disagree about which one counts).
nlohmann::json parse_json(std::string_view text, const std::string& origin);

// `text`, which a file supplied, in JSON quotes and of bounded length: fit for one line of an error
// message.
std::string quote(std::string_view text);

}  // namespace slip
