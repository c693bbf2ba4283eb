// One rendering's account: where it is, what time it is, and how much of its limits it has used.
#pragma once

#include <chrono>
#include <string>

#include "base/error.h"
#include "text/jinja_limits.h"
#include "text/jinja_source_error.h"
#include "text/jinja_value.h"

namespace slip::jinja {

class Run {
 public:
  Run(const std::string& origin, const Limits& limits, std::chrono::local_seconds now)
      : origin_(origin), limits_(limits), now_(now) {}

  const Limits& limits() const { return limits_; }
  std::chrono::local_seconds now() const { return now_; }

  // The line that is computed from now on.
  void at_line(int line) { line_ = line; }

  // The conversation and the template do not go together.
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, place(origin_, line_) + what);
  }
  // What the template does is Jinja, but not known here.
  [[noreturn]] void refuse(const std::string& what) const { unsupported(origin_, line_, what); }

  // Accounts for one step and for looking at `n_bytes`.
  void step(size_t n_bytes = 0) {
    n_steps_ += 1 + static_cast<int64_t>(n_bytes / kBytesPerStep);
    if (n_steps_ > limits_.steps_max)
      fail_at_limit("steps", static_cast<size_t>(limits_.steps_max));
  }

  // Accounts for a computed string or list. To be called before it is made, or while it grows.
  void make(size_t n_bytes) {
    if (n_bytes > limits_.made_bytes_max - n_made_bytes_) {
      fail_at_limit("bytes of computed values", limits_.made_bytes_max);
    }
    n_made_bytes_ += n_bytes;
  }

  // Accounts for `n_bytes` of output, before they are appended.
  void output(size_t n_bytes) {
    n_output_bytes_ += n_bytes;
    if (n_output_bytes_ > limits_.output_bytes_max) {
      fail_at_limit("bytes of output", limits_.output_bytes_max);
    }
  }

  // Counts how deep the interpreter is inside of itself.
  class Depth {
   public:
    explicit Depth(Run& run) : run_(run) {
      if (run.depth_ >= run.limits_.depth_max) {
        run.fail("the template calls itself deeper than " + std::to_string(run.limits_.depth_max) +
                 " levels");
      }
      ++run.depth_;
    }
    ~Depth() { --run_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Run& run_;
  };

 private:
  static constexpr size_t kBytesPerStep = 64;

  [[noreturn]] void fail_at_limit(const std::string& what, size_t limit) const {
    fail("the template needs more than " + std::to_string(limit) + " " + what);
  }

  const std::string& origin_;
  const Limits limits_;
  const std::chrono::local_seconds now_;
  int line_ = 1;
  int depth_ = 0;
  int64_t n_steps_ = 0;
  size_t n_made_bytes_ = 0;
  size_t n_output_bytes_ = 0;
};

// Values, accounted for in `run` before they exist.
Value make_string(Run& run, Text text);
Value make_string(Run& run, std::string text);
// Fails when lists would nest deeper than Limits::value_nesting_max.
Value make_list(Run& run, Elements elements, ListKind kind = ListKind::kList);
Value make_mapping(Run& run, Entries entries);
Value make_iterator(Run& run, Elements elements);

}  // namespace slip::jinja
