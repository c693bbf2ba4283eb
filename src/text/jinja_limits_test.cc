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
  constexpr int kDeep = 50'000;
  const auto between = [](const std::string& open, const std::string& close) {
    return "{{ " + repeated(open, kDeep) + "1" + repeated(close, kDeep) + " }}";
  };
  for (const std::string& source :
       {between("(", ")"),
        between("[", "]"),
        between("not ", ""),
        between("-", ""),
        between("", "+1"),
        between("", "|d"),
        between("", ".a"),
        between("", " and 1"),
        between("(", " is none)"),
        between("{1:", "}"),
        between("1 if 1 else ", ""),
        between("", " if 1"),
        between("", "*1"),
        between("", "**1"),
        between("", "[1:]"),
        between("", "()"),
        between("f(", ")"),
        between("f(a=", ")"),
        between("x[", "]"),
        between("1,(", ")"),
        "{% set " + repeated("(", kDeep) + "a" + repeated(")", kDeep) + " = 1 %}",
        repeated("{% if 1 %}", kDeep),
        repeated("{% for a in a %}", kDeep / 2),
        repeated("{% macro f() %}", kDeep),
        repeated("{% set x %}", kDeep)}) {
    EXPECT_NE(outcome(source, {}).find("deeper than 128 is not supported"), std::string::npos)
        << source.substr(0, 20) << outcome(source, {});
  }
}

// Templates that want too much of something, and what of.
const std::string kRecursive = "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}";
const std::string kMutual =
    "{% macro f() %}{{ g() }}{% endmacro %}{% macro g() %}{{ f() }}{% endmacro %}{{ f() }}";
const std::string kTenMillion = "{% set s = 'ab' * 5000000 %}";
const std::vector<std::pair<std::string, std::string>> kTooMuch = {
    {kRecursive, "calls itself deeper than 400 levels"},
    {kMutual, "calls itself deeper than 400 levels"},
    {"{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}", "deeper than 400 levels"},
    {"{% macro f() %}{% if 0 %}{{ caller() }}{% endif %}{% call f() %}{% endcall %}{% endmacro "
     "%}{{ "
     "f() }}",
     "deeper than 400"},
    {"{% macro f() %}{{ caller() }}{{ f() }}{% endmacro %}{% call f() %}{% call f() %}{% endcall "
     "%}{% endcall %}",
     "a call of undefined"},
    {"{{ range(100001) | list }}", "a range of more than 100000 elements"},
    {"{{ range(0, 9223372036854775807, 9) | list }}", "a range of more than 100000 elements"},
    {"{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
     "the template needs more than"},
    {"{% for a in range(100000) %}{{ 'x' * 1000 }}{% endfor %}", "bytes of output"},
    {"{{ 'x' * 9223372036854775807 }}", "bytes of computed values"},
    {"{{ [1] * 9223372036854775807 }}", "bytes of computed values"},
    {"{{ 'ab' * 200000000 }}", "bytes of computed values"},
    {"{{ (1, 2) * 100000000 }}", "bytes of computed values"},
    {"{% set n = namespace(s='ab') %}{% for i in range(100) %}{% set n.s = n.s + n.s %}{% endfor "
     "%}",
     "bytes of computed values"},
    {"{% set n = namespace(s='ab') %}{% for i in range(100) %}{% set n.s = n.s ~ n.s %}{% endfor "
     "%}",
     "bytes of computed values"},
    {"{% set n = namespace(s='ab') %}{% for i in range(100) %}{% set n.s = n.s.replace('', n.s) "
     "%}{% endfor %}",
     "bytes of computed values"},
    {"{% set n = namespace(s='ab') %}{% for i in range(99) %}{% set n.s = n.s | join(n.s) %}{% "
     "endfor %}",
     "bytes of computed values"},
    {"{% set n = namespace(l=[1]) %}{% for i in range(100) %}{% set n.l = n.l + n.l %}{% endfor "
     "%}",
     "bytes of computed values"},
    {"{% set n = namespace(l=[]) %}{% for i in range(99) %}{% set n.l = [n.l, n.l] %}{% endfor "
     "%}",
     "lists nested deeper than 64"},
    {"{% set n = namespace(l=[]) %}{% for i in range(60) %}{% set n.l = [n.l, n.l] %}{% endfor "
     "%}{{ n.l | tojson }}",
     "steps"},
    {"{% set n = namespace(l={}) %}{% for i in range(60) %}{% set n.l = {'a': n.l, 'b': n.l} "
     "%}{% "
     "endfor %}{{ n.l == n.l | tojson }}",
     "the template needs more than"},
    {"{% set n = namespace(l=1) %}{% for i in range(60) %}{% set n.l = (n.l, n.l) %}{% endfor "
     "%}{{ n.l < n.l }}",
     "steps"},
    {"{{ 'a' | center(9223372036854775807) }}", "bytes of computed values"},
    {"{{ 'a\nb' | indent(9223372036854775807) }}", "bytes of computed values"},
    {"{{ [1] | tojson(indent=9223372036854775807) }}", "bytes of computed values"},
    {"{{ [1] | batch(9223372036854775807, 'x') | list }}", "bytes of computed values"},
    {"{{ [1] | slice(9223372036854775807) | list }}", "bytes of computed values"},
    {"{{ range(100000) | unique | list }}", "steps"},
    {"{% set l = range(100000) | list %}{% for x in l %}{{ x in l }}{% endfor %}", "steps"},
    {kTenMillion + "{{ s | list | length }}", "bytes of computed values"},
    {kTenMillion + "{% for i in range(1000) %}{{ s.find('c') }}{% endfor %}", "steps"},
    {kTenMillion + "{% for i in range(100000) %}{{ s[i] }}{% endfor %}", "steps"},
    {kTenMillion + "{% for i in range(100000) %}{{ s | length }}{% endfor %}", "steps"},
    {kTenMillion + "{% for i in range(100000) %}{{ s.strip('xyz') | length }}{% endfor %}",
     "the template needs more than"},
    {"{% set s = 'ab' * 1500000 %}{{ s.split('a') | length }}", "bytes of computed values"},
    {"{{ 10 ** 9223372036854775807 }}", "an integer beyond 64 bits"},
    {"{% set a = 1 %}" + repeated("{% set a = a ~ a %}", 64), "bytes of computed values"},
};

// Each must end soon.
TEST(JinjaLimits, EndEveryTemplateThatWantsTooMuch) {
  const Limits limits{.steps_max = 4'000'000,
                      .output_bytes_max = size_t{16} << 20,
                      .made_bytes_max = size_t{64} << 20};
  for (const auto& [source, words] : kTooMuch) {
    const std::string end = outcome(source, limits);
    EXPECT_NE(end.find(words), std::string::npos) << source << " ends in: " << end;
  }
}

TEST(JinjaLimits, BoundTheDepthOfCalls) {
  const std::string source =
      "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(9) }}";
  EXPECT_EQ(outcome(source, {.depth_max = 100}), "");
  EXPECT_EQ(outcome(source, {.depth_max = 30}),
            "t:1: the template calls itself deeper than 30 levels");
}

TEST(JinjaLimits, BoundRanges) {
  EXPECT_EQ(outcome("{{ range(10) | length }}", {.range_max = 10}), "");
  EXPECT_EQ(outcome("{{ range(11) | length }}", {.range_max = 10}),
            "t:1: a range of more than 10 elements");
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
