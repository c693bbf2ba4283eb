// How fast an answer comes, while it comes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "engine/request.h"

namespace slip {

class AnswerPace {
 public:
  using Clock = std::chrono::steady_clock;

  void add(const TokenChunk& chunk, Clock::time_point now = Clock::now());

  // "812 tokens/s, 93 % of drafts accepted". Nothing before the second chunk: the first one waited
  // for the prompt.
  std::optional<std::string> describe() const;

 private:
  std::optional<Clock::time_point> first_;
  Clock::time_point last_;
  int32_t n_after_first_ = 0;
  int32_t n_drafted_ = 0, n_accepted_ = 0;
};

}  // namespace slip
