#include "app/interrupt.h"

#include <csignal>

#include <unistd.h>

namespace slip {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void on_signal(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

// A mapped file lost its end: there is nothing to go on with, but something to say.
void on_bus_error(int) {
  constexpr char kSentence[] =
      "slipstream: a file of the model was shortened while it was in use\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kSentence, sizeof(kSentence) - 1);
  _exit(1);
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as nohup wants it
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, on_bus_error);
}

bool is_interrupted() { return interrupted != 0; }

}  // namespace slip
