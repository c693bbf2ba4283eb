// What survives of a draft, and which token follows. One rule, one place; device versions are
// compared with it.
//
// Sources: Leviathan, Kalman, Matias 2023 and Chen et al. 2023 (p/q rejection with residual); Sun
// et al. 2024, arXiv 2403.10444 (block verification); Cai et al. 2024, arXiv 2401.10774 (typical
// acceptance); Narasimhan et al. 2024, arXiv 2405.19261 (cascades, token rule).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sample/distribution.h"
#include "sample/sampling.h"

namespace slip {

struct Verdict {
  int n_accepted = 0;  // leading draft tokens that survive
  TokenId next{};      // the correction after a rejection, the bonus token after a full acceptance
  bool is_finite =
      true;  // false: a row that decides had no usable maximum; `next` means nothing then
};

// The distribution that a drafted token was drawn from. A certain token has no entries: it was not
// drawn.
struct DraftLaw {
  static constexpr size_t kTokensMax =
      64;  // a draft may be drawn from any law; this bounds its size

  int32_t n_tokens = 0;
  std::array<TokenProbability, kTokensMax> tokens{};

  std::span<const TokenProbability> entries() const {
    return std::span(tokens).first(static_cast<size_t>(n_tokens));
  }
};

// The drafts of one segment and how they are to be judged.
struct AcceptRequest {
  const SequenceSampling* maybe_sampling = nullptr;  // null: greedy
  std::span<const DraftLaw> laws{};                  // [n_drafts]; empty: all drafts are certain
};

// One row of a segment: the distribution of the token at `position`.
struct RowQuery {
  const SequenceSampling* maybe_sampling = nullptr;  // null: greedy
  int32_t position = 0;
  int32_t n_before = 0;               // drafts before it
  std::span<const TokenId> drafts{};  // of the whole segment
  std::span<const DraftLaw> laws{};   // [drafts] or empty

  // The draft for this position; nothing behind the last one.
  std::optional<TokenId> draft() const;
  const DraftLaw* maybe_law() const;
  int32_t first_position() const { return position - n_before; }
};

// What one row says, whatever the other rows say.
struct RowChoice {
  bool keeps_draft = false;
  TokenId next{};  // where the draft is not kept, or there is none
  bool is_finite = true;
};

// Block verification of n drafts. The longest prefix is kept whose coin falls below its rung.
struct BlockLadder {
  static constexpr size_t kRungsMax = 32;

  std::array<double, kRungsMax> keep{};    // [n + 1]: of i drafts; keep[0] is 1, nobody asks
  std::array<double, kRungsMax> weight{};  // [n + 1]: scale of the target in the residual behind i
};

// Judges rows one at a time; owns the memory that takes.
class RowSampler {
 public:
  // All memory there will ever be: memory_bytes().
  explicit RowSampler(int32_t vocab_size);
  static int64_t memory_bytes(int32_t vocab_size);

  // Of every rule but block verification, which looks at several rows.
  RowChoice choose(std::span<const float> logits, const RowQuery& query);

  // Block verification; `first` is the query of the first row.
  //   logits  [n_drafts + 1, vocab_size]
  Verdict accept_block(std::span<const float> logits, const RowQuery& first);

  // What block verification decides by. False where a row is not usable.
  bool climb(std::span<const float> logits, const RowQuery& first, BlockLadder& ladder);

  // A draft from the draft head's logits. Under the seeded coupling it shares the noise that will
  // choose the target's token.
  //   query      its drafts are those of this run so far
  //   maybe_law  set to what the token was drawn from; certain where it was not drawn
  std::optional<TokenId> draft(std::span<const float> logits, const RowQuery& query,
                               DraftLaw* maybe_law);

  // The distribution of a row. False where its logits are not usable.
  bool assign(std::span<const float> logits, const RowQuery& query, const Shape& shape);
  const Distribution& distribution() const { return distribution_; }

 private:
  std::vector<float> logits_;  // [vocab_size], adjusted
  Distribution distribution_;
};

// Whether the rule looks at several rows at once.
bool judges_blocks(const SequenceSampling* maybe_sampling);

// Keeps drafts while their rows do.
//   rows  [n_drafts + 1]; only rows[0..n_accepted] decide, later ones are never looked at
Verdict accept(std::span<const RowChoice> rows);

// All of one segment. The definition of what a runner does.
//   logits  [n_drafts + 1, vocab_size]
//   first   the query of the first row
//   rows    scratch; keeps its capacity
Verdict accept(RowSampler& sampler, std::span<const float> logits, const RowQuery& first,
               std::vector<RowChoice>& rows);

// The parts of the rules, for whoever wants to compute with them.

// With which probability a token drawn from the law is kept.
double keep_probability(const Distribution& target, const DraftLaw* maybe_law, TokenId draft,
                        AcceptRule rule);

// max(scale * p(x) - q(x), 0): what the target has and the law has not, not normalised.
double residual(const TokenProbability& target, double scale, const DraftLaw* maybe_law,
                TokenId draft);

}  // namespace slip
