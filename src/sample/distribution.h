// The distribution that a row of logits stands for, shaped as a client asked. The definition that
// devices are compared with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "sample/sampling.h"

namespace slip {

// The id of the largest logit; the lowest id wins a tie. Nothing if any logit is NaN or +inf, or
// all are -inf.
//   logits  [vocab_size], vocab_size >= 1
std::optional<TokenId> argmax(std::span<const float> logits);

// How likely the likeliest token is at temperature 1; 0 where argmax() gives nothing. Logits more
// than 20 below the largest are left out: a quarter of a million of them are less than 0.001.
//   logits  [vocab_size], vocab_size >= 1
double top_probability(std::span<const float> logits);

struct TokenProbability {
  TokenId id{};
  double p = 0;
};

// Logit bias first, then penalties, in place.
//   maybe_counts  of the text so far; not null where there are penalties
//   drafts        tokens behind that text which the row takes for granted; they count as answer
void adjust_logits(std::span<float> logits, const SamplingParams& params,
                   const TokenCounts* maybe_counts, std::span<const TokenId> drafts);

// The token whose exponential noise, divided by its weight, is the least: token i comes first with
// probability weight(i) / sum. Weights need not be normalised; of no positive one comes nothing.
// Two distributions that share the noise agree with probability (1 - TV) / (1 + TV).
//   tokens  each id at most once
//   weight  of a TokenProbability, not negative
template <class Weight>
std::optional<TokenId> race(std::span<const TokenProbability> tokens, ExponentialNoise noise,
                            Weight weight) {
  std::optional<TokenId> winner;
  double best = 0;
  for (const TokenProbability& token : tokens) {
    const double w = weight(token);
    if (!(w > 0)) continue;
    const double time = noise(static_cast<uint32_t>(index(token.id))) / w;
    if (winner && (time > best || (time == best && token.id > *winner))) continue;
    winner = token.id;
    best = time;
  }
  return winner;
}

// A distribution, and the memory for the next one.
class Distribution {
 public:
  // All memory there will ever be: 16 bytes a token of the vocabulary.
  explicit Distribution(int32_t vocab_size);

  // Takes the place of what was there. False, and empty, where a logit is NaN or +inf or all are
  // -inf.
  //   logits  [vocab_size]
  bool assign(std::span<const float> logits, const Shape& shape);

  // Tokens of positive probability and perhaps others; the likeliest first if the shape truncates,
  // by id otherwise.
  std::span<const TokenProbability> tokens() const { return {entries_.data(), n_}; }

  double probability(TokenId token) const;
  double largest() const;
  double entropy() const;  // nats

  // One token. The distribution is not empty.
  TokenId draw(const ExponentialNoise& noise) const;

 private:
  void truncate(double total, const Shape& shape);
  size_t gather_candidates(double wanted, const Shape& shape);

  std::vector<TokenProbability> entries_;  // [vocab_size]
  size_t n_ = 0;
  bool is_by_id_ = false;
};

}  // namespace slip
