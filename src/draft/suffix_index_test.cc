#include "draft/suffix_index.h"

#include <ctime>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "draft/testing/suffix_search.h"

namespace slip {
namespace {

std::vector<TokenId> random_tokens(uint64_t seed, int32_t n, int32_t alphabet) {
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < n; ++i) {
    const float u = uniform(seed, static_cast<uint64_t>(i), Draw::kTest);
    tokens.push_back(TokenId{static_cast<int32_t>(u * static_cast<float>(alphabet))});
  }
  return tokens;
}

void expect_same(const std::optional<SuffixMatch>& found,
                 const std::optional<SuffixMatch>& wanted) {
  ASSERT_EQ(found.has_value(), wanted.has_value());
  if (!wanted) return;
  EXPECT_EQ(found->position, wanted->position);
  EXPECT_EQ(found->n_tokens, wanted->n_tokens);
}

TEST(SuffixIndex, FindsWhatTheDefinitionFindsAtEveryLength) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    const auto alphabet = static_cast<int32_t>(1 + seed % 5);
    const std::vector<TokenId> tokens = random_tokens(seed, 400, alphabet);
    SuffixIndex suffixes(400);
    for (size_t n = 1; n <= tokens.size(); ++n) {
      const auto text = std::span(tokens).first(n);
      suffixes.append(text);
      expect_same(suffixes.find(text), test::find_by_looking(text));
    }
  }
}

TEST(SuffixIndex, FindsTheSameWhenTokensComeInBursts) {
  const std::vector<TokenId> tokens = random_tokens(7, 900, 3);
  SuffixIndex suffixes(900);
  for (size_t n = 1; n <= tokens.size(); n += 1 + n % 32) {
    const auto text = std::span(tokens).first(n);
    suffixes.append(text);
    expect_same(suffixes.find(text), test::find_by_looking(text));
  }
}

TEST(SuffixIndex, FindsNothingOfTheLastTextAfterClear) {
  const std::vector<TokenId> tokens = random_tokens(3, 200, 2);
  SuffixIndex suffixes(200);
  suffixes.append(tokens);
  suffixes.clear();
  for (size_t n = 1; n <= 60; ++n) {
    const auto text = std::span(tokens).subspan(100, n);
    suffixes.append(text);
    expect_same(suffixes.find(text), test::find_by_looking(text));
  }
}

TEST(SuffixIndex, PlansAtMost48BytesAToken) {
  for (const int32_t capacity : {1, 33, 4096, 4097, 261120, 1048577}) {
    EXPECT_LE(SuffixIndex::bytes(capacity), int64_t{48} * capacity) << capacity;
  }
}

// Of processor time, so that neighbours do not count. Some 20 to 50 ms for the longest context;
// quadratic time would be minutes. What it takes exactly is for a benchmark to say.
constexpr double kIndexMsMax = 2000;

TEST(SuffixIndex, IndexesALongContextInTime) {
#if !defined(__OPTIMIZE__) || defined(SLIP_SANITIZED)
  GTEST_SKIP() << "the bound is for optimised code";
#endif
  constexpr int32_t kTokens = 261120;
  const std::vector<TokenId> tokens = random_tokens(5, kTokens, 150000);
  SuffixIndex suffixes(kTokens);
  const std::clock_t begin = std::clock();
  suffixes.append(tokens);
  const double elapsed_ms = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_LE(elapsed_ms, kIndexMsMax);
}

}  // namespace
}  // namespace slip
