#include "base/hash.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace slip {
namespace {

uint64_t hash_text(std::string_view text, uint64_t seed = 0) {
  return hash_bytes(std::as_bytes(std::span(text)), seed);
}

// Stored states outlive the program, so the function must never change. Known values of XXH64 with
// seed 0.
TEST(HashBytes, IsXxh64) {
  EXPECT_EQ(hash_text(""), 0xEF46DB3751D8E999u);
  EXPECT_EQ(hash_text("a"), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(hash_text("abc"), 0x44BC2CF5AD770999u);
}

TEST(HashBytes, DependsOnTheSeed) { EXPECT_NE(hash_text("abc", 1), hash_text("abc")); }

TEST(HashTokens, DependsOnTheOrder) {
  const std::vector<TokenId> forward = {TokenId{1}, TokenId{2}};
  const std::vector<TokenId> backward = {TokenId{2}, TokenId{1}};
  EXPECT_NE(hash_tokens(forward), hash_tokens(backward));
}

}  // namespace
}  // namespace slip
