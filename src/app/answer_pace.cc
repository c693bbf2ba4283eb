#include "app/answer_pace.h"

#include <cstdio>

namespace slip {

void AnswerPace::add(const TokenChunk& chunk, Clock::time_point now) {
  last_ = now;
  n_drafted_ += chunk.n_drafted;
  n_accepted_ += chunk.n_accepted;
  if (first_) {
    n_after_first_ += static_cast<int32_t>(chunk.tokens.size());
  } else {
    first_ = now;
  }
}

std::optional<std::string> AnswerPace::describe() const {
  if (!first_ || last_ <= *first_) return std::nullopt;
  const double seconds = std::chrono::duration<double>(last_ - *first_).count();
  char text[80];
  std::snprintf(text, sizeof text, "%.0f tokens/s", n_after_first_ / seconds);
  std::string line = text;
  if (n_drafted_ > 0) {
    std::snprintf(text, sizeof text, ", %.0f %% of drafts accepted",
                  100.0 * n_accepted_ / n_drafted_);
    line += text;
  }
  return line;
}

}  // namespace slip
