// What the program prints has to arrive.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace slip {

// Throws Error{kOutputFailed} with the system's reason when anything printed so far could not be
// written.
void flush_stdout();

// Before any file is opened: a standard stream that the caller closed would otherwise be the number
// of the next one. Stdin then is at its end, stdout refuses what is written, stderr swallows it.
void open_standard_streams();

// Whether `descriptor` is a terminal that understands control sequences, which one that calls
// itself "dumb" does not.
bool shows_sequences(int descriptor);

// `text` as one line for a terminal: control characters escaped, long text cut. For messages that
// quote what a user or a file gave.
std::string one_line(std::string_view text);

// "28.9 MB": decimal units, three digits or so.
std::string format_bytes(int64_t n_bytes);

}  // namespace slip
