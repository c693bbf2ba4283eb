// One line on a terminal that says how far something is. Drawn over again, and gone at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace slip {

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};  // eyes need no more

  // Shows itself on stderr where that is a terminal.
  ProgressLine();
  // `out` stays open for as long as the line lives.
  ProgressLine(std::FILE* out, bool is_terminal) : out_(out), is_terminal_(is_terminal) {}
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Left out where the line was drawn less than kInterval before `now`.
  void show(const std::string& text, Clock::time_point now = Clock::now());
  void erase();

 private:
  std::FILE* out_;
  bool is_terminal_;
  bool is_drawn_ = false;
  std::optional<Clock::time_point> last_drawn_;
};

// "[#####...............]  25 %": how much of `n_all`, which is more than 0, is done.
std::string progress_bar(int64_t n_done, int64_t n_all);

}  // namespace slip
