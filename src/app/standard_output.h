// What the program prints has to arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slip {

// Throws Error{kOutputFailed} with the system's reason when anything printed so far could not be
// written.
void flush_stdout();

// `text` as one line for a terminal: control characters escaped, long text cut. For messages that
// quote what a user or a file gave.
std::string one_line(std::string_view text);

// "28.9 MB": decimal units, three digits or so.
std::string format_bytes(int64_t n_bytes);

}  // namespace slip
