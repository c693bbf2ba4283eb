// The `slipstream` program: parses the command line, runs one command, turns an Error into one
// sentence and an exit status.

#include <cstdio>
#include <exception>
#include <new>

#include "app/command_line.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/standard_output.h"
#include "base/error.h"
#include "base/log.h"

int main(int argc, char** argv) {
  slip::log::init(slip::log::Level::kWarning);
  slip::open_standard_streams();
  slip::catch_interrupts();
  try {
    const int status = slip::run_command_line(argc, argv);
    slip::flush_stdout();
    return status;
  } catch (const slip::Error& error) {
    if (slip::is_interrupted()) return slip::kExitInterrupted;  // what failed was not waited for
    std::fprintf(stderr, "slipstream: %s\n", slip::one_line(error.what()).c_str());
    return slip::exit_status(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "slipstream: the system is out of memory\n");
    return slip::exit_status(slip::ErrorCode::kInsufficientMemory);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "slipstream: unexpected: %s\n", slip::one_line(error.what()).c_str());
    return 1;
  }
}
