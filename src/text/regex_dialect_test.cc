#include "text/regex_dialect.h"

#include <vector>

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

TEST(RegexDialect, KeepsWhatBothReadAlike) {
  const std::vector<std::string> patterns = {
      R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{Lu}+|\p{N}{1,3}|x{2,}|y{3}|\t\f|\P{^L})",
      R"((?:a)(?=b)(?!c)(?>d)(?<=e)(?<!f)(g))",
      R"(\.\[\\\]\-\/ [a-z({&\]] \x{4E00})",
  };
  for (const std::string& pattern : patterns) EXPECT_EQ(to_pcre2(pattern, "x"), pattern);
}

TEST(RegexDialect, SpellsOutWhiteSpaceAndDigits) {
  EXPECT_EQ(
      to_pcre2(R"(\s)", "x"),
      R"([\t-\r \x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}])");
  EXPECT_EQ(to_pcre2(R"([\s])", "x"), to_pcre2(R"(\s)", "x"));
  EXPECT_EQ(to_pcre2(R"(\S)", "x"), "[^" + to_pcre2(R"(\s)", "x").substr(1));
  EXPECT_EQ(to_pcre2(R"([a\S])", "x"), R"([a\P{White_Space}])");
  EXPECT_EQ(to_pcre2(R"(\d[\D])", "x"), R"(\p{Nd}[\P{Nd}])");
}

struct Refused {
  std::string pattern, construct;
};

TEST(RegexDialect, RefusesByNameWhatTheTwoReadDifferently) {
  const std::vector<Refused> cases = {
      {R"(a\w)", R"(\w)"},   {R"(\bx)", R"(\b)"},    {R"([\h])", R"(\h)"},
      {R"(\1)", R"(\1)"},    {R"(\x41)", R"(\x)"},   {R"(\p{Han})", R"(\p{Han})"},
      {R"(\pL)", R"(\pL)"},  {R"(\p{L)", R"(\p{L)"}, {"[a[b]]", "[b"},
      {"[[:alpha:]]", "[:"}, {"[a-z&&[^b]]", "&&"},  {"[]a]", "]"},
      {"(?i)a", "(?i)"},     {"(?m:a)", "(?m:"},     {"(?<n>a)", "(?<n"},
      {"(*FAIL)", "(*FA"},   {"a{,3}", "{,3}"},      {"a{2}+", "{2}+"},
      {"a{2,3}?", "{2,3}?"}, {"a{b}", "{b}"},        {"a\\", "\\"},
  };
  for (const Refused& test : cases) {
    EXPECT_TRUE(test::fails_with(ErrorCode::kUnsupportedModel,
                                 "x: Regex: " + quote(test.construct) + " is not supported",
                                 [&] { to_pcre2(test.pattern, "x"); }))
        << test.pattern;
  }
}

}  // namespace
}  // namespace slip
