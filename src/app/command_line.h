// From argv to a command with validated options.
#pragma once

#include "base/error.h"

namespace slip {

// Runs the command that argv names. Prints help and usage errors itself; returns the exit status.
// Throws Error.
int run_command_line(int argc, const char* const* argv);

// 2 for what the user can mend in the command line, 1 for the rest.
int exit_status(ErrorCode code);

}  // namespace slip
