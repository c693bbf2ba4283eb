// A text on a terminal that says how far something is. Drawn over again, and gone at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace slip {

// Where on a terminal it stands, in control sequences (ECMA-48; for the title, xterm's).
struct TerminalPlace {
  const char* enter;   // once, before the first text
  const char* before;  // each text
  const char* after;
  const char* leave;  // once, and nothing is left
};
inline constexpr TerminalPlace kCurrentLine = {
    .enter = "", .before = "\r\x1b[K", .after = "", .leave = "\r\x1b[K"};
// Beside text that goes on meanwhile. The old title is kept by the terminal.
inline constexpr TerminalPlace kWindowTitle = {
    .enter = "\x1b[22;2t", .before = "\x1b]2;", .after = "\x07", .leave = "\x1b[23;2t"};

class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kInterval{100};  // eyes need no more

  // Shows itself on stderr where that is a terminal.
  explicit ProgressLine(const TerminalPlace& place = kCurrentLine);
  // `out` stays open for as long as the line lives.
  ProgressLine(std::FILE* out, bool is_terminal, const TerminalPlace& place)
      : out_(out), is_terminal_(is_terminal), place_(place) {}
  ~ProgressLine() { erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Left out where the line was drawn less than kInterval before `now`.
  void show(const std::string& text, Clock::time_point now = Clock::now());
  void erase();

 private:
  std::FILE* out_;
  bool is_terminal_;
  TerminalPlace place_;
  bool is_drawn_ = false;
  std::optional<Clock::time_point> last_drawn_;
};

// "[#####...............]  25 %": how much of `n_all`, which is more than 0, is done.
std::string progress_bar(int64_t n_done, int64_t n_all);

}  // namespace slip
