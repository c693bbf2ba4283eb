#include "app/interrupt.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace slip {

namespace {

volatile std::sig_atomic_t interrupted = 0;
volatile std::sig_atomic_t told_to_end = 0;

// A byte for each signal: what waits for input waits for this, too. Any thread may get the signal,
// so an interrupted system call would not do.
int wake_pipe[2] = {-1, -1};

void on_signal(int signal) {
  const int error = errno;
  if (signal == SIGINT) {
    interrupted = 1;
  } else {
    told_to_end = 1;
  }
  std::signal(signal, SIG_DFL);
  [[maybe_unused]] const ssize_t n = write(wake_pipe[1], "", 1);
  errno = error;
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
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) wake_pipe[0] = wake_pipe[1] = -1;
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);  // as nohup wants it
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, on_bus_error);
}

bool is_interrupted() { return interrupted != 0 || told_to_end != 0; }

void clear_interrupt() {
  if (interrupted == 0) return;
  char drained[16];
  while (read(wake_pipe[0], drained, sizeof drained) > 0) continue;
  interrupted = 0;
  std::signal(SIGINT, on_signal);
}

bool wait_for_input(int descriptor) {
  pollfd waits[] = {{.fd = descriptor, .events = POLLIN, .revents = 0},
                    {.fd = wake_pipe[0], .events = POLLIN, .revents = 0}};
  while (!is_interrupted()) {
    if (poll(waits, 2, -1) > 0 && waits[0].revents != 0 && !is_interrupted()) return true;
  }
  return false;
}

}  // namespace slip
