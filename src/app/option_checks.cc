#include "app/option_checks.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "app/kv_type.h"
#include "base/json.h"

namespace slip {

namespace {

// All of `text` as a number; nothing if it is none.
template <class Number>
std::optional<Number> parse(const std::string& text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

// `is_good` takes the number that the value spells.
template <class Number, class IsGood>
CLI::Validator check_number(const std::string& wanted, IsGood is_good) {
  return CLI::Validator(
      [wanted, is_good](std::string& text) {
        const std::optional<Number> value = parse<Number>(text);
        return value && is_good(*value) ? "" : "found " + quote(text) + ", wanted " + wanted;
      },
      "");
}

}  // namespace

CLI::Validator whole_number(int64_t min, int64_t max) {
  return check_number<int64_t>(
      "a whole number from " + std::to_string(min) + " to " + std::to_string(max),
      [min, max](int64_t value) { return value >= min && value <= max; });
}

CLI::Validator one_of(std::vector<int64_t> allowed) {
  std::string list;
  for (const int64_t value : allowed) list += (list.empty() ? "" : ", ") + std::to_string(value);
  return check_number<int64_t>("one of " + list, [allowed = std::move(allowed)](int64_t value) {
    return std::ranges::find(allowed, value) != allowed.end();
  });
}

CLI::Validator kv_type() {
  return CLI::Validator(
      [](std::string& text) {
        return parse_kv_type(text) ? "" : "found " + quote(text) + ", wanted f32, f16 or bf16";
      },
      "");
}

CLI::Validator seed() {
  return check_number<uint64_t>("a number from 0 to 2^64 - 1", [](uint64_t) { return true; });
}

CLI::Validator number(double min, double max) {
  return check_number<double>(fmt::format("a number from {} to {}", min, max),
                              [min, max](double value) { return value >= min && value <= max; });
}

}  // namespace slip
