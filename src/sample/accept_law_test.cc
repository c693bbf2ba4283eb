// Speculation is invisible in law: every output of one step, with plain draws behind it, has the
// probability that plain decoding gives it. Computed, not sampled: a vocabulary of five, every
// draft, every number of accepted tokens, every token that can follow.

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sample/accept.h"

namespace slip {
namespace {

constexpr int32_t kVocab = 5;
constexpr int32_t kPosition = 20;
constexpr double kTolerance = 1e-12;  // of probabilities added up from at most 10^5 doubles

using Tokens = std::vector<TokenId>;

// Five logits that depend on the place and on the last token.
std::vector<float> make_logits(uint64_t model, size_t place, TokenId last) {
  std::vector<float> logits;
  for (uint64_t i = 0; i < kVocab; ++i)
    logits.push_back(1.5f * normal(model, 1000 * place + 10 * index(last) + i, Draw::kTest));
  return logits;
}

struct LawCase {
  const char* name;
  SamplingParams params;
};

void PrintTo(const LawCase& c, std::ostream* out) { *out << c.name; }

// A target, a draft head, and the text they continue.
class World {
 public:
  explicit World(const SamplingParams& params)
      : params_(params), counts_(kVocab), sampler_(kVocab) {
    counts_.add_prompt(std::vector{TokenId{3}});
    counts_.add_answer(TokenId{1});
    sampling_ = {
        .params = &params_, .maybe_counts = &counts_, .seed = 0, .coupling = Coupling::kRejection};
  }

  RowQuery query(std::span<const TokenId> drafts, std::span<const DraftLaw> laws,
                 size_t n_before) const {
    return {.maybe_sampling = &sampling_,
            .position = kPosition + static_cast<int32_t>(n_before),
            .n_before = static_cast<int32_t>(n_before),
            .drafts = drafts,
            .laws = laws};
  }

  // The target's distribution behind `before`.
  const Distribution& target(std::span<const TokenId> before) {
    const auto logits = target_logits(before);
    EXPECT_TRUE(sampler_.assign(logits, query(before, {}, before.size()), params_.shape));
    return sampler_.distribution();
  }

  double plain(std::span<const TokenId> before, TokenId next) {
    return target(before).probability(next);
  }

  std::vector<float> target_logits(std::span<const TokenId> before) const {
    return make_logits(11, before.size(), before.empty() ? TokenId{1} : before.back());
  }

  // The law that the head draws from behind `before`.
  DraftLaw law(std::span<const TokenId> before) {
    DraftLaw law;
    const TokenId last = before.empty() ? TokenId{1} : before.back();
    sampler_.draft(make_logits(12, before.size(), last), query(before, {}, before.size()), &law);
    return law;
  }

  // With which probability a rule keeps exactly n drafts; and the scale of the residual behind
  // them.
  struct Kept {
    std::vector<double> probability;  // [drafts + 1]
    std::vector<double> scale;        // [drafts + 1]
  };

  Kept keep_one_by_one(const Tokens& drafts, const std::vector<DraftLaw>& laws, double bias) {
    Kept kept;
    double reach = 1;
    for (size_t i = 0; i < drafts.size(); ++i) {
      const auto* law = laws.empty() ? nullptr : &laws[i];
      const double keep =
          std::min(1.0, bias * keep_probability(target(std::span(drafts).first(i)), law, drafts[i],
                                                AcceptRule::kExact));
      kept.probability.push_back(reach * (1 - keep));
      reach *= keep;
    }
    kept.probability.push_back(reach);
    kept.scale.assign(drafts.size() + 1, 1);
    return kept;
  }

  Kept keep_blocks(const Tokens& drafts, const std::vector<DraftLaw>& laws, double bias) {
    std::vector<float> logits;
    for (size_t i = 0; i <= drafts.size(); ++i) {
      const auto row = target_logits(std::span(drafts).first(i));
      logits.insert(logits.end(), row.begin(), row.end());
    }
    BlockLadder ladder;
    EXPECT_TRUE(sampler_.climb(logits, query(drafts, laws, 0), ladder));
    Kept kept;
    kept.probability.resize(drafts.size() + 1);
    double none_longer = 1;
    for (size_t i = drafts.size() + 1; i-- > 0;) {
      const double keep = i == 0 ? 1 : std::min(1.0, bias * ladder.keep[i]);
      kept.probability[i] = none_longer * keep;
      none_longer *= 1 - keep;
      kept.scale.insert(kept.scale.begin(), ladder.weight[i]);
    }
    return kept;
  }

  Kept keep(const Tokens& drafts, const std::vector<DraftLaw>& laws, double bias) {
    return params_.rule == AcceptRule::kBlock ? keep_blocks(drafts, laws, bias)
                                              : keep_one_by_one(drafts, laws, bias);
  }

  // The law of the token behind n kept drafts.
  std::array<double, kVocab> next_law(const Tokens& drafts, const std::vector<DraftLaw>& laws,
                                      size_t n, double scale) {
    std::array<double, kVocab> weights{};
    double sum = 0;
    for (const TokenProbability& entry : target(std::span(drafts).first(n)).tokens()) {
      const auto* law = n < laws.size() ? &laws[n] : nullptr;
      const double w = n < drafts.size() ? residual(entry, scale, law, drafts[n]) : entry.p;
      weights[index(entry.id)] = w;
      sum += w;
    }
    for (double& w : weights) w = sum > 0 ? w / sum : 0;
    return weights;
  }

 private:
  SamplingParams params_;
  TokenCounts counts_;
  SequenceSampling sampling_;
  RowSampler sampler_;
};

// Adds the probability that a step with these drafts, and plain draws behind it, begins with
// `text`.
double probability_of(World& world, const Tokens& text, const Tokens& drafts,
                      const std::vector<DraftLaw>& laws, double bias) {
  const World::Kept kept = world.keep(drafts, laws, bias);
  double sum = 0;
  for (size_t n = 0; n <= drafts.size(); ++n) {
    const size_t n_compared = std::min(n, text.size());
    if (!std::equal(text.begin(), text.begin() + static_cast<ptrdiff_t>(n_compared),
                    drafts.begin()))
      continue;
    double p = kept.probability[n];
    if (p == 0) continue;
    if (n < text.size()) p *= world.next_law(drafts, laws, n, kept.scale[n])[index(text[n])];
    for (size_t i = n + 1; i < text.size(); ++i)
      p *= world.plain(std::span(text).first(i), text[i]);
    sum += p;
  }
  return sum;
}

double plain_probability(World& world, const Tokens& text) {
  double p = 1;
  for (size_t i = 0; i < text.size(); ++i) p *= world.plain(std::span(text).first(i), text[i]);
  return p;
}

template <class Visit>
void for_all_texts(size_t length, Visit visit) {
  size_t n = 1;
  for (size_t i = 0; i < length; ++i) n *= kVocab;
  for (size_t code = 0; code < n; ++code) {
    Tokens text;
    for (size_t i = 0, rest = code; i < length; ++i, rest /= kVocab)
      text.push_back(TokenId{static_cast<int32_t>(rest % kVocab)});
    visit(text);
  }
}

// The largest error over all texts one longer than the draft, drafts drawn from the head's laws.
double drawn_drafts_error(const SamplingParams& params, size_t depth, double bias) {
  World world(params);
  struct Drafted {
    Tokens tokens;
    std::vector<DraftLaw> laws;
    double probability;
  };
  std::vector<Drafted> all;
  for_all_texts(depth, [&](const Tokens& drafts) {
    Drafted drafted{.tokens = drafts, .laws = {}, .probability = 1};
    for (size_t i = 0; i < depth && drafted.probability > 0; ++i) {
      drafted.laws.push_back(world.law(std::span(drafts).first(i)));
      double q = 0;
      for (const TokenProbability& entry : drafted.laws.back().entries())
        q += entry.id == drafts[i] ? entry.p : 0;
      drafted.probability *= q;
    }
    if (drafted.probability > 0) all.push_back(std::move(drafted));
  });
  double worst = 0;
  // Texts of every length up to the depth and one more, so that marginals are looked at as well.
  for (size_t length = 1; length <= std::min<size_t>(depth + 1, 3); ++length) {
    for_all_texts(length, [&](const Tokens& text) {
      double p = 0;
      for (const Drafted& d : all)
        p += d.probability * probability_of(world, text, d.tokens, d.laws, bias);
      worst = std::max(worst, std::abs(p - plain_probability(world, text)));
    });
  }
  return worst;
}

// Likewise for one copied span: texts that follow it for a while and then leave it.
double copied_span_error(const SamplingParams& params, size_t length, double bias) {
  World world(params);
  Tokens span;  // as likely as an answer, so that some of it is kept
  for (uint64_t i = 0; i < length; ++i)
    span.push_back(world.target(span).draw(ExponentialNoise(5, i, Draw::kTest)));
  double worst = 0;
  for (size_t n = 0; n <= length; ++n) {
    for (int32_t next = 0; next < kVocab; ++next) {
      Tokens text(span.begin(), span.begin() + static_cast<ptrdiff_t>(n));
      text.push_back(TokenId{next});
      const double p = probability_of(world, text, span, {}, bias);
      worst = std::max(worst, std::abs(p - plain_probability(world, text)));
    }
  }
  return worst;
}

class AcceptLaw : public testing::TestWithParam<LawCase> {};

TEST_P(AcceptLaw, OfDrawnDraftsIsTheTargets) {
  for (size_t depth = 1; depth <= 4; ++depth)
    EXPECT_LT(drawn_drafts_error(GetParam().params, depth, 1), kTolerance) << "depth " << depth;
}

TEST_P(AcceptLaw, OfCopiedSpansIsTheTargets) {
  for (size_t length = 1; length <= 8; ++length)
    EXPECT_LT(copied_span_error(GetParam().params, length, 1), kTolerance) << "span " << length;
}

// What the two tests above are worth: a sampler that keeps 2 % too many drafts fails them.
TEST_P(AcceptLaw, IsMissedByASamplerWithABiasOfTwoPerCent) {
  EXPECT_GT(drawn_drafts_error(GetParam().params, 2, 1.02), 1e3 * kTolerance);
  EXPECT_GT(copied_span_error(GetParam().params, 2, 1.02), 1e3 * kTolerance);
}

SamplingParams with_rule(SamplingParams params, AcceptRule rule) {
  params.rule = rule;
  return params;
}

const SamplingParams kPlainLaw{.shape = {.temperature = 1}};
const SamplingParams kTruncated{.shape = {.temperature = 2, .top_p = 0.95f, .top_k = 4}};
const SamplingParams kMinP{.shape = {.temperature = 1.3f, .min_p = 0.1f}};
const SamplingParams kPenalised{
    .shape = {.temperature = 1, .top_p = 0.97f},
    .penalties = {.presence = 0.4f, .frequency = 0.3f, .repetition = 1.2f},
    .logit_bias = {{TokenId{2}, 0.7f}}};

INSTANTIATE_TEST_SUITE_P(
    Sample, AcceptLaw,
    testing::Values(LawCase{"exact_plain", kPlainLaw}, LawCase{"exact_truncated", kTruncated},
                    LawCase{"exact_min_p", kMinP}, LawCase{"exact_penalised", kPenalised},
                    LawCase{"block_plain", with_rule(kPlainLaw, AcceptRule::kBlock)},
                    LawCase{"block_truncated", with_rule(kTruncated, AcceptRule::kBlock)},
                    LawCase{"block_min_p", with_rule(kMinP, AcceptRule::kBlock)},
                    LawCase{"block_penalised", with_rule(kPenalised, AcceptRule::kBlock)}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

}  // namespace
}  // namespace slip
