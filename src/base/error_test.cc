#include "base/error.h"

#include <set>

#include <gtest/gtest.h>

namespace slip {
namespace {

TEST(Error, CarriesCodeAndSentence) {
  const Error error(ErrorCode::kCorruptFile, "x.json: found 1, wanted 2");
  EXPECT_EQ(error.code(), ErrorCode::kCorruptFile);
  EXPECT_STREQ(error.what(), "x.json: found 1, wanted 2");
}

TEST(ErrorCode, HasADifferentNameForEveryKind) {
  using enum ErrorCode;
  const std::set<std::string_view> names = {
      name(kInvalidArgument),    name(kNotFound), name(kCorruptFile),  name(kUnsupportedModel),
      name(kInsufficientMemory), name(kDevice),   name(kOutputFailed), name(kNonFiniteLogits)};
  EXPECT_EQ(names.size(), 8u);
}

}  // namespace
}  // namespace slip
