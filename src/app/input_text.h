// A text that an option names: a file, or "-" for the standard input.
#pragma once

#include <string>

namespace slip {

// The whole text, at most kJsonFileBytesMax bytes. Throws Error{kNotFound}, or
// Error{kInvalidArgument} for what is no regular file, too long or cannot be read.
std::string read_input_text(const std::string& path);

// What messages call it.
std::string input_name(const std::string& path);

}  // namespace slip
