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
  WindowReader(Runner& runner, const EvalPlan& plan, const EvalWindow& window, int32_t segment_rows)
      : reader_(runner, {plan.text.begin() + window.begin, plan.text.begin() + window.end},
                /*with_draft_head=*/false),
        vocab_size_(static_cast<size_t>(runner.info().vocab_size)),
        segment_rows_(segment_rows) {
    // The row before a token is the one that predicts it.
    reader_.skip_to(window.scored_from - window.begin - 1);
  }

  int32_t position() const { return reader_.position(); }

  // Reads `n_rows` rows; logits_of(i) belongs to the i-th of them.
  void read(int32_t n_rows) {
    logits_.clear();
    const int32_t end = position() + n_rows;
    while (position() < end && !is_interrupted())
      reader_.verify(std::min(segment_rows_, end - position()), logits_);
  }

  std::span<const float> logits_of(int32_t row) const {
    return std::span(logits_).subspan(static_cast<size_t>(row) * vocab_size_, vocab_size_);
  }

 private:
  TokenReader reader_;
  size_t vocab_size_;
  int32_t segment_rows_;
  std::vector<float> logits_;
};

// False when the user interrupts.
bool read_window(Runner& judged_runner, Runner* maybe_reference, const EvalPlan& plan,
                 const EvalWindow& window, const std::function<void(const EvalRow&)>& visit) {
  WindowReader judged(judged_runner, plan, window, plan.n_rows);
  const int32_t n_reference_rows = plan.n_reference_rows > 0 ? plan.n_reference_rows : plan.n_rows;
  const int32_t n_at_once = std::max(plan.n_rows, n_reference_rows);
  std::optional<WindowReader> reference;
  if (maybe_reference != nullptr)
    reference.emplace(*maybe_reference, plan, window, n_reference_rows);
  // The last token of a window would predict one that the next window scores.
  const int32_t n_read = window.end - window.begin - 1;
  while (judged.position() < n_read) {
    const int32_t first = window.begin + judged.position() + 1;  // token that row 0 predicts
    const int32_t n_rows = std::min(n_at_once, n_read - judged.position());
    judged.read(n_rows);
    if (reference) reference->read(n_rows);
    if (is_interrupted()) return false;
    for (int32_t row = 0; row < n_rows; ++row) {
      visit({.index = first + row,
             .judged = judged.logits_of(row),
             .reference = reference ? reference->logits_of(row) : std::span<const float>()});
    }
  }
  return true;
}

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

void TextScore::add(double token_nats, int64_t token_bytes) {
  ++n_tokens;
  n_bytes += token_bytes;
  nats += token_nats;
}

double TextScore::perplexity() const { return std::exp(nats / static_cast<double>(n_tokens)); }

double TextScore::bits_per_byte() const {
  return nats / std::numbers::ln2 / static_cast<double>(n_bytes);
}

bool read_rows(Runner& judged, Runner* reference, const EvalPlan& plan,
               const std::function<void(const EvalRow&)>& visit) {
  SLIP_CHECK(reference == nullptr || reference->info().vocab_size == judged.info().vocab_size);
  return std::ranges::all_of(plan.windows, [&](const EvalWindow& window) {
    return read_window(judged, reference, plan, window, visit);
  });
}

std::optional<Evaluation> evaluate(Runner& judged, Runner* reference, const EvalPlan& plan,
                                   const Tokenizer& tokenizer) {
  Evaluation result;
  DivergenceStats divergence;
  const auto score = [&](const EvalRow& row) {
    const TokenId token = plan.text[static_cast<size_t>(row.index)];
    const auto n_bytes = static_cast<int64_t>(tokenizer.bytes(token).size());
    result.score.add(negative_log_likelihood(row.judged, token), n_bytes);
    if (reference == nullptr) return;
    result.reference_score.add(negative_log_likelihood(row.reference, token), n_bytes);
    divergence.add(row.reference, row.judged);
  };
  if (!read_rows(judged, reference, plan, score)) return std::nullopt;
  result.divergence = divergence.summary();
  return result;
}

}  // namespace slip
