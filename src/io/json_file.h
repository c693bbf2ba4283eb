// Text and JSON from disk.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace slip {

inline constexpr size_t kJsonFileBytesMax = size_t{256} << 20;

// The whole file. Throws with the path Error{kNotFound}; `if_unfit` for what is no regular file or
// larger than kJsonFileBytesMax, which is a fault of the model or, where a user named the file, a
// wrong argument; Error{kCorruptFile} for a file that is shortened while it is read.
std::string read_text_file(const std::filesystem::path& path,
                           ErrorCode if_unfit = ErrorCode::kCorruptFile);

}  // namespace slip
