// How the tokens of one request are drawn: what a client may ask, and what that means for a row.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "sample/token_counts.h"

namespace slip {

// From logits to a distribution. The kept tokens are the likeliest ones, equal ones by id, until
// the first of the three limits is reached.
struct Shape {
  float temperature = 0;  // [0, 100]; 0 keeps the likeliest token alone
  float top_p = 1;        // (0, 1]: tokens before which less than this share of all mass lies
  int32_t top_k = 0;      // >= 0; 0 is no limit
  float min_p = 0;        // [0, 1]: tokens at least this share as likely as the likeliest

  bool is_greedy() const { return temperature == 0; }
  bool truncates() const { return top_p < 1 || top_k > 0 || min_p > 0; }
};

// On tokens that the text has already. Presence and frequency count the answer, repetition counts
// the prompt too.
struct Penalties {
  float presence = 0;    // [-2, 2], subtracted once
  float frequency = 0;   // [-2, 2], subtracted for every occurrence
  float repetition = 1;  // (0, 10], divides positive logits and multiplies negative ones

  bool any() const { return presence != 0 || frequency != 0 || repetition != 1; }
};

struct LogitBias {
  TokenId token{};
  float bias = 0;  // [-100, 100], added
};

// When a draft is kept. The first two give exactly the target's law; the other two do not, and
// every response that used one says so.
enum class AcceptRule { kExact, kBlock, kTypical, kCascade };
std::string_view name(AcceptRule rule);  // "exact", "block", "typical", "cascade"
bool is_exact(AcceptRule rule);

// How the noise is used. Seeded: the token at a position is a function of the target's row and of
// the noise of that position, so that text depends on neither source, width nor neighbours.
// Rejection: drafts are kept with probability p/q, which accepts more of them.
enum class Coupling { kSeeded, kRejection };

struct SamplingParams {
  Shape shape;
  Penalties penalties;
  std::vector<LogitBias> logit_bias;  // at most kLogitBiasMax, each token once
  AcceptRule rule = AcceptRule::kExact;

  bool adjusts_logits() const { return penalties.any() || !logit_bias.empty(); }
};

inline constexpr size_t kLogitBiasMax = 1024;

// Throws Error{kInvalidArgument} naming the first field that is out of its range.
void check_sampling(const SamplingParams& params, int32_t vocab_size);

// What a row needs to know of its sequence. Everything outlives the call it is passed to.
struct SequenceSampling {
  const SamplingParams* params = nullptr;
  const TokenCounts* maybe_counts = nullptr;  // of the tokens so far; set where penalties.any()
  uint64_t seed = 0;
  Coupling coupling = Coupling::kSeeded;
};

}  // namespace slip
