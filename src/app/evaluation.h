// Judging a model on a text: how well it predicts it, and how far another setting's predictions are
// from its own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"
#include "base/ids.h"
#include "sample/divergence.h"
#include "text/tokenizer.h"

namespace slip {

// A stretch of the text that is read from an empty state.
struct EvalWindow {
  int32_t begin = 0, end = 0;  // tokens
  int32_t scored_from = 0;     // the first token whose prediction counts; after `begin`
};

// Windows of `window_tokens` that begin `stride_tokens` apart, the last one shorter. A token counts
// in the first window that holds it, so every token but the first of the text counts once, and
// behind the first window each is predicted from window_tokens - stride_tokens tokens at least.
// Pure.
//   n_tokens       at least 2
//   window_tokens  at least 2
//   stride_tokens  [1, window_tokens)
std::vector<EvalWindow> plan_windows(int32_t n_tokens, int32_t window_tokens,
                                     int32_t stride_tokens);

struct TextScore {
  int64_t n_tokens = 0;  // that counted
  int64_t n_bytes = 0;   // of text that they stand for
  double nats = 0;       // sum of the negative log-likelihoods

  void add(double token_nats, int64_t token_bytes);
  double perplexity() const;     // exp(nats / n_tokens)
  double bits_per_byte() const;  // comparable between tokenizers, as perplexity is not
};

struct EvalPlan {
  std::span<const TokenId> text;
  std::vector<EvalWindow> windows;
  int32_t n_rows = 1;            // of a verify segment; the bits do not depend on it
  int32_t n_reference_rows = 0;  // of the reference's segments; 0: as many
};

// What is said of one token before it is read.
struct EvalRow {
  int32_t index;  // of the token in the text
  std::span<const float> judged;
  std::span<const float> reference;  // empty where there is none
};

// Reads the windows with `judged` and, side by side, with `reference` where there is one, and shows
// every token that counts, in order. Memory is that of one segment's logits. False when the user
// interrupts.
//   reference  has the vocabulary of `judged`; null: none
bool read_rows(Runner& judged, Runner* reference, const EvalPlan& plan,
               const std::function<void(const EvalRow&)>& visit);

struct Evaluation {
  TextScore score;               // of the judged runner
  TextScore reference_score;     // where there is a reference
  DivergenceSummary divergence;  // of the judged runner from it: KL(reference || judged)
};

// Scores what read_rows() shows. Nothing when the user interrupts.
std::optional<Evaluation> evaluate(Runner& judged, Runner* reference, const EvalPlan& plan,
                                   const Tokenizer& tokenizer);

}  // namespace slip
