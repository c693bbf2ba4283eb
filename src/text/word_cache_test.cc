#include "text/word_cache.h"

#include <string>

#include <gtest/gtest.h>

namespace slip {
namespace {

std::vector<TokenId> found(const WordCache& cache, std::string_view word) {
  const auto ids = cache.find(word);
  return {ids.begin(), ids.end()};
}

TEST(WordCache, RemembersWords) {
  WordCache cache(1 << 20);
  const std::vector<TokenId> ids = {TokenId{3}, TokenId{1}, TokenId{4}};
  cache.put("word", ids);
  EXPECT_EQ(found(cache, "word"), ids);
  EXPECT_TRUE(found(cache, "wor").empty());
  EXPECT_TRUE(found(cache, std::string_view("word\0", 5)).empty());
}

TEST(WordCache, NeverAnswersWithTheTokensOfAnotherWord) {
  WordCache cache(0);
  for (int i = 0; i < 1000; ++i) {
    const std::vector<TokenId> ids = {TokenId{i}};
    cache.put(std::to_string(i), ids);
    EXPECT_EQ(found(cache, std::to_string(i)), ids);
  }
  int n_remembered = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto ids = found(cache, std::to_string(i));
    if (ids.empty()) continue;
    EXPECT_EQ(ids, std::vector<TokenId>{TokenId{i}});
    ++n_remembered;
  }
  EXPECT_GT(n_remembered, 0);
}

TEST(WordCache, ForgetsWhatIsTooLong) {
  WordCache cache(1 << 20);
  const std::vector<TokenId> one = {TokenId{1}};
  cache.put(std::string(38, 'x'), one);
  cache.put(std::string(39, 'x'), one);
  cache.put("ids", std::vector<TokenId>(7));
  EXPECT_EQ(found(cache, std::string(38, 'x')), one);
  EXPECT_TRUE(found(cache, std::string(39, 'x')).empty());
  EXPECT_TRUE(found(cache, "ids").empty());
}

}  // namespace
}  // namespace slip
