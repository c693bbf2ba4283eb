#include "app/progress_line.h"

#include <algorithm>

#include <unistd.h>

#include "app/standard_output.h"

namespace slip {

namespace {

constexpr int64_t kBarWidth = 20;

}  // namespace

ProgressLine::ProgressLine(const TerminalPlace& place)
    : ProgressLine(stderr, shows_sequences(STDERR_FILENO), place) {}

void ProgressLine::show(const std::string& text, Clock::time_point now) {
  if (!is_terminal_ || (last_drawn_ && now - *last_drawn_ < kInterval)) return;
  std::fprintf(out_, "%s%s%s%s", is_drawn_ ? "" : place_.enter, place_.before, text.c_str(),
               place_.after);
  std::fflush(out_);
  is_drawn_ = true;
  last_drawn_ = now;
}

void ProgressLine::erase() {
  if (!is_drawn_) return;
  std::fputs(place_.leave, out_);
  std::fflush(out_);
  is_drawn_ = false;
}

std::string progress_bar(int64_t n_done, int64_t n_all) {
  const int64_t n = std::clamp<int64_t>(n_done, 0, n_all);
  const auto n_full = static_cast<size_t>(n * kBarWidth / n_all);
  char percent[16];
  std::snprintf(percent, sizeof percent, " %3d %%", static_cast<int>(n * 100 / n_all));
  return "[" + std::string(n_full, '#') + std::string(kBarWidth - n_full, '.') + "]" + percent;
}

}  // namespace slip
