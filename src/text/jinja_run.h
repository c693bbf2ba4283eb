// One rendering's account: where it is, and how much of its limits it has used.
#pragma once

#include <string>

#include "base/error.h"
#include "text/jinja_limits.h"
#include "text/jinja_source_error.h"

namespace slip::jinja {

class Run {
 public:
  Run(const std::string& origin, const Limits& limits) : origin_(origin), limits_(limits) {}

  const Limits& limits() const { return limits_; }

  // The line that is computed from now on.
  void at_line(int line) { line_ = line; }

  // The conversation and the template do not go together.
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, place(origin_, line_) + what);
  }

  // Accounts for one step and for looking at `n_bytes`.
  void step(size_t n_bytes = 0) {
    n_steps_ += 1 + static_cast<int64_t>(n_bytes / kBytesPerStep);
    if (n_steps_ > limits_.steps_max)
      fail_at_limit("steps", static_cast<size_t>(limits_.steps_max));
  }

  // Accounts for a computed string or list. To be called before it is made, or while it grows.
  void make(size_t n_bytes) {
    n_made_bytes_ += n_bytes;
    if (n_made_bytes_ > limits_.made_bytes_max) {
      fail_at_limit("bytes of computed values", limits_.made_bytes_max);
    }
  }

  // Accounts for `n_bytes` of output, before they are appended.
  void output(size_t n_bytes) {
    n_output_bytes_ += n_bytes;
    if (n_output_bytes_ > limits_.output_bytes_max) {
      fail_at_limit("bytes of output", limits_.output_bytes_max);
    }
  }

 private:
  static constexpr size_t kBytesPerStep = 64;

  [[noreturn]] void fail_at_limit(const std::string& what, size_t limit) const {
    fail("the template needs more than " + std::to_string(limit) + " " + what);
  }

  const std::string& origin_;
  const Limits limits_;
  int line_ = 1;
  int64_t n_steps_ = 0;
  size_t n_made_bytes_ = 0;
  size_t n_output_bytes_ = 0;
};

}  // namespace slip::jinja
