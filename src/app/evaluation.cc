#include "app/evaluation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "app/interrupt.h"
#include "app/token_reader.h"
#include "base/check.h"

namespace slip {

namespace {

// What one runner says of one window, in step with another runner's.
class WindowReader {
 public:
  WindowReader(Runner& runner, const EvalPlan& plan, const EvalWindow& window)
      : reader_(runner, {plan.text.begin() + window.begin, plan.text.begin() + window.end},
                /*with_draft_head=*/false),
        vocab_size_(static_cast<size_t>(runner.info().vocab_size)) {
    // The row before a token is the one that predicts it.
    reader_.skip_to(window.scored_from - window.begin - 1);
  }

  int32_t position() const { return reader_.position(); }

  // Reads `n_rows` rows; logits_of(i) belongs to the i-th of them.
  void read(int32_t n_rows) {
    logits_.clear();
    const int32_t end = position() + n_rows;
    while (position() < end && !is_interrupted()) reader_.verify(end - position(), logits_);
  }

  std::span<const float> logits_of(int32_t row) const {
    return std::span(logits_).subspan(static_cast<size_t>(row) * vocab_size_, vocab_size_);
  }

 private:
  TokenReader reader_;
  size_t vocab_size_;
  std::vector<float> logits_;
};

class Evaluator {
 public:
  Evaluator(Runner& judged, Runner* reference, const EvalPlan& plan, const Tokenizer& tokenizer)
      : judged_(judged), reference_(reference), plan_(plan), tokenizer_(tokenizer) {}

  // False when the user interrupts.
  bool read(const EvalWindow& window) {
    WindowReader judged(judged_, plan_, window);
    std::optional<WindowReader> reference;
    if (reference_ != nullptr) reference.emplace(*reference_, plan_, window);
    // The last token of a window would predict one that the next window scores.
    const int32_t n_read = window.end - window.begin - 1;
    while (judged.position() < n_read) {
      const int32_t first = window.begin + judged.position() + 1;  // token that row 0 predicts
      const int32_t n_rows = std::min(plan_.n_rows, n_read - judged.position());
      judged.read(n_rows);
      if (reference) reference->read(n_rows);
      if (is_interrupted()) return false;
      for (int32_t row = 0; row < n_rows; ++row) {
        const TokenId token = plan_.text[static_cast<size_t>(first + row)];
        add(result_.score, judged.logits_of(row), token);
        if (!reference) continue;
        add(result_.reference_score, reference->logits_of(row), token);
        divergence_.add(reference->logits_of(row), judged.logits_of(row));
      }
    }
    return true;
  }

  Evaluation result() const {
    Evaluation result = result_;
    result.divergence = divergence_.summary();
    return result;
  }

 private:
  void add(TextScore& score, std::span<const float> logits, TokenId token) const {
    ++score.n_tokens;
    score.n_bytes += static_cast<int64_t>(tokenizer_.bytes(token).size());
    score.nats += negative_log_likelihood(logits, token);
  }

  Runner& judged_;
  Runner* reference_;
  const EvalPlan& plan_;
  const Tokenizer& tokenizer_;
  Evaluation result_;
  DivergenceStats divergence_;
};

}  // namespace

std::vector<EvalWindow> plan_windows(int32_t n_tokens, int32_t window_tokens,
                                     int32_t stride_tokens) {
  SLIP_CHECK(n_tokens >= 2 && window_tokens >= 2);
  SLIP_CHECK(stride_tokens >= 1 && stride_tokens < window_tokens);
  std::vector<EvalWindow> windows;
  int32_t n_scored = 1;  // nothing predicts the first token
  for (int32_t begin = 0; n_scored < n_tokens; begin += stride_tokens) {
    const int32_t end = std::min(n_tokens - begin, window_tokens) + begin;
    windows.push_back({.begin = begin, .end = end, .scored_from = n_scored});
    n_scored = end;
  }
  return windows;
}

double TextScore::perplexity() const { return std::exp(nats / static_cast<double>(n_tokens)); }

double TextScore::bits_per_byte() const {
  return nats / std::numbers::ln2 / static_cast<double>(n_bytes);
}

std::optional<Evaluation> evaluate(Runner& judged, Runner* reference, const EvalPlan& plan,
                                   const Tokenizer& tokenizer) {
  SLIP_CHECK(reference == nullptr || reference->info().vocab_size == judged.info().vocab_size);
  Evaluator evaluator(judged, reference, plan, tokenizer);
  for (const EvalWindow& window : plan.windows) {
    if (!evaluator.read(window)) return std::nullopt;
  }
  return evaluator.result();
}

}  // namespace slip
