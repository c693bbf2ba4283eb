// Every limit of jinja_limits.h, hit and kept.
#include "text/jinja_limits.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "text/jinja_evaluator.h"
#include "text/jinja_parser.h"

namespace slip::jinja {
namespace {

// What the template ends in: "" for success, else the message.
std::string outcome(const std::string& source, const Limits& limits) {
  try {
    render(parse(source, "t", limits), {}, "t", limits);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string repeated(const std::string& part, int n_times) {
  std::string out;
  for (int i = 0; i < n_times; ++i) out += part;
  return out;
}

TEST(JinjaLimits, BoundTheTemplate) {
  const Limits limits{.template_bytes_max = 10};
  EXPECT_EQ(outcome("0123456789", limits), "");
  EXPECT_EQ(outcome("0123456789a", limits), "t: 11 bytes, at most 10 are read");
}

TEST(JinjaLimits, BoundTheSteps) {
  const Limits limits{.steps_max = 1000};
  const std::string loop = "{% for a in [1,2,3,4,5,6,7,8,9] %}";
  const std::string end = "{% endfor %}";
  EXPECT_EQ(outcome(loop + loop + end + end, limits), "");
  EXPECT_EQ(outcome(loop + loop + loop + loop + end + end + end + end, limits),
            "t:1: the template needs more than 1000 steps");
}

TEST(JinjaLimits, BoundTheOutput) {
  const Limits limits{.output_bytes_max = 4};
  EXPECT_EQ(outcome("ab{{ 12 }}", limits), "");
  EXPECT_EQ(outcome("ab{{ 12 }}c", limits), "t:1: the template needs more than 4 bytes of output");
}

TEST(JinjaLimits, BoundStringsThatDouble) {
  const std::string source = "{% set x = 'ab' %}" + repeated("{% set x = x + x %}", 60);
  EXPECT_EQ(outcome(source, {.made_bytes_max = 1 << 20}),
            "t:1: the template needs more than 1048576 bytes of computed values");
}

TEST(JinjaLimits, BoundListsThatPrintExponentiallyLong) {
  const std::string source = "{% set x = [] %}" + repeated("{% set x = [x, x] %}", 60) + "{{ x }}";
  EXPECT_EQ(outcome(source, {.steps_max = 100'000}),
            "t:1: the template needs more than 100000 steps");
}

TEST(JinjaLimits, BoundTheDepthOfComputedLists) {
  const Limits limits{.value_nesting_max = 3};
  EXPECT_EQ(outcome("{% set x = [[[]]] %}", limits), "");
  EXPECT_EQ(outcome("{% set x = [[[[]]]] %}", limits), "t:1: lists nested deeper than 3");
}

TEST(JinjaLimits, BoundTheNestingOfEverythingThatNests) {
  constexpr int kDeep = 100'000;
  for (const std::string& source :
       {"{{ " + repeated("(", kDeep) + " }}", "{{ " + repeated("[", kDeep) + " }}",
        "{{ " + repeated("not ", kDeep) + "1 }}", "{{ " + repeated("-", kDeep) + "1 }}",
        "{{ 1" + repeated("+1", kDeep) + " }}", "{{ 1" + repeated("|d", kDeep) + " }}",
        "{{ a" + repeated(".a", kDeep) + " }}", "{{ 1" + repeated(" and 1", kDeep) + " }}",
        "{{ 1" + repeated(" is none", kDeep) + " }}", repeated("{% if 1 %}", kDeep),
        repeated("{% for a in a %}", kDeep / 2)}) {
    EXPECT_NE(outcome(source, {}).find("deeper than 128 is not supported"), std::string::npos)
        << source.substr(0, 20);
  }
}

TEST(JinjaLimits, AllowLongChainsThatDoNotNest) {
  std::string source = "{% if 0 %}";
  source += repeated("{% elif 0 %}", 1000) + "{% endif %}";
  EXPECT_EQ(outcome(source, {}), "");
  EXPECT_EQ(outcome("{{ 1" + repeated(" < 2 != 1", 1000) + " }}", {}), "");
}

TEST(JinjaLimits, BoundSearchesInLongTexts) {
  // 200,000 steps are 12.8 MB of text looked at; each round looks at 2 MB.
  const Limits limits{.steps_max = 200'000};
  const std::string source = "{% set x = 'aaaaaaaa' %}" + repeated("{% set x = x + x %}", 17) +
                             repeated("{{ 'b' in x }}{{ 'a' ~ x in x }}", 10);
  EXPECT_EQ(outcome(source, limits), "t:1: the template needs more than 200000 steps");
}

}  // namespace
}  // namespace slip::jinja
