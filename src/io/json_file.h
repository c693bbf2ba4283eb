// Text and JSON from disk.
#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"

namespace slip {

inline constexpr size_t kJsonFileBytesMax = size_t{256} << 20;

// The whole file. Throws Error{kNotFound} or Error{kCorruptFile} (not a regular file, larger than
// kJsonFileBytesMax, shortened while it was read) with the path.
std::string read_text_file(const std::filesystem::path& path);

}  // namespace slip
