// The arithmetic of Python's numbers, within 64 bits.
#include <array>
#include <cmath>
#include <limits>

#include "text/jinja_format.h"
#include "text/jinja_operations.h"
#include "text/jinja_show.h"

namespace slip::jinja {
namespace {

[[noreturn]] void fail_beyond(Run& run) { run.refuse("an integer beyond 64 bits"); }

Value checked(Run& run, bool is_overflow, int64_t value) {
  if (is_overflow) fail_beyond(run);
  return Value(value);
}

// Applies one function to integers and another to floats; nothing if one is no number.
template <class OnIntegers, class OnFloats>
std::optional<Value> on_numbers(const Value& a, const Value& b, OnIntegers on_integers,
                                OnFloats on_floats) {
  const auto i = as_integer(a);
  const auto j = as_integer(b);
  if (i && j) return on_integers(*i, *j);
  const auto x = as_float(a);
  const auto y = as_float(b);
  if (x && y) return on_floats(*x, *y);
  return std::nullopt;
}

// The same for operators that mean nothing else.
template <class OnIntegers, class OnFloats>
Value require_numbers(Run& run, std::string_view operation, const Value& a, const Value& b,
                      OnIntegers on_integers, OnFloats on_floats) {
  const auto result = on_numbers(a, b, on_integers, on_floats);
  if (!result) fail_between(run, operation, a, b);
  return *result;
}

Value repeated_string(Run& run, const Value& value, int64_t n_times) {
  const Text& text = value.text();
  if (n_times <= 0) return Value(Text(), value.is_markup());
  if (text.cost_bytes() > 0 &&
      static_cast<size_t>(n_times) > std::numeric_limits<size_t>::max() / text.cost_bytes()) {
    run.make(std::numeric_limits<size_t>::max());
  }
  run.make(text.cost_bytes() * static_cast<size_t>(n_times));
  Text out;
  if (text.size() == 0) return Value(out, value.is_markup());
  for (int64_t i = 0; i < n_times; ++i) out.append(text);
  return Value(std::move(out), value.is_markup());
}

Value repeated_list(Run& run, const Value& value, int64_t n_times) {
  const size_t n_elements = value.elements().size();
  if (n_times <= 0 || n_elements == 0) return make_list(run, {}, value.as<List>().kind);
  if (static_cast<size_t>(n_times) > static_cast<size_t>(run.limits().steps_max) / n_elements) {
    run.make(std::numeric_limits<size_t>::max());
  }
  run.make(n_elements * static_cast<size_t>(n_times) * sizeof(Value));
  Elements elements;
  for (int64_t i = 0; i < n_times; ++i) {
    elements.insert(elements.end(), value.elements().begin(), value.elements().end());
  }
  return make_list(run, std::move(elements), value.as<List>().kind);
}

bool is_repeatable(const Value& value) {
  return value.is_string() || value.is_list(ListKind::kList) || value.is_list(ListKind::kTuple);
}

Value repeated(Run& run, const Value& value, int64_t n_times) {
  return value.is_string() ? repeated_string(run, value, n_times)
                           : repeated_list(run, value, n_times);
}

// Text + text, with the escaping that HTML strings of Python do.
Value add_strings(Run& run, const Value& a, const Value& b) {
  const bool is_markup = a.is_markup() || b.is_markup();
  Text sum = is_markup ? escape_html(run, a) : a.text();
  run.make(sum.cost_bytes() + b.text().cost_bytes());
  sum.append(is_markup ? escape_html(run, b) : b.text());
  return Value(std::move(sum), is_markup);
}

Value integer_power(Run& run, int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) fail_beyond(run);
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) fail_beyond(run);
  }
  return Value(result);
}

Value float_power(Run& run, double base, double exponent) {
  if (base == 0 && exponent < 0) run.fail("0 to a negative power");
  if (base < 0 && std::floor(exponent) != exponent) run.refuse("a complex number");
  const double result = std::pow(base, exponent);
  if (std::isinf(result) && std::isfinite(base) && std::isfinite(exponent)) {
    run.fail("a power beyond the largest number");
  }
  return Value(result);
}

// The remainder that has the sign of the divisor, as in Python.
double float_modulo(double x, double y) {
  const double remainder = std::fmod(x, y);
  if (remainder == 0) return std::copysign(0.0, y);
  return (remainder < 0) != (y < 0) ? remainder + y : remainder;
}

double float_floor_divide(double x, double y) {
  const double quotient = (x - float_modulo(x, y)) / y;
  if (quotient == 0) return std::copysign(0.0, x / y);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

bool is_exact_as_float(int64_t value) {
  constexpr int64_t kMax = int64_t{1} << std::numeric_limits<double>::digits;
  return value >= -kMax && value <= kMax;
}

}  // namespace

Value add(Run& run, const Value& a, const Value& b) {
  const auto sum = on_numbers(
      a, b,
      [&](int64_t i, int64_t j) {
        int64_t result = 0;
        const bool is_overflow = __builtin_add_overflow(i, j, &result);
        return checked(run, is_overflow, result);
      },
      [](double x, double y) { return Value(x + y); });
  if (sum) return *sum;
  if (a.is_string() && b.is_string()) return add_strings(run, a, b);
  for (const ListKind kind : {ListKind::kList, ListKind::kTuple}) {
    if (!a.is_list(kind) || !b.is_list(kind)) continue;
    run.make((a.elements().size() + b.elements().size()) * sizeof(Value));
    Elements both = a.elements();
    both.insert(both.end(), b.elements().begin(), b.elements().end());
    return make_list(run, std::move(both), kind);
  }
  fail_between(run, "+", a, b);
}

Value subtract(Run& run, const Value& a, const Value& b) {
  return require_numbers(
      run, "-", a, b,
      [&](int64_t i, int64_t j) {
        int64_t result = 0;
        const bool is_overflow = __builtin_sub_overflow(i, j, &result);
        return checked(run, is_overflow, result);
      },
      [](double x, double y) { return Value(x - y); });
}

Value multiply(Run& run, const Value& a, const Value& b) {
  const auto product = on_numbers(
      a, b,
      [&](int64_t i, int64_t j) {
        int64_t result = 0;
        const bool is_overflow = __builtin_mul_overflow(i, j, &result);
        return checked(run, is_overflow, result);
      },
      [](double x, double y) { return Value(x * y); });
  if (product) return *product;
  if (is_repeatable(a) && as_integer(b)) return repeated(run, a, *as_integer(b));
  if (is_repeatable(b) && as_integer(a)) return repeated(run, b, *as_integer(a));
  fail_between(run, "*", a, b);
}

Value divide(Run& run, const Value& a, const Value& b) {
  const auto x = as_float(a);
  const auto y = as_float(b);
  if (!x || !y) fail_between(run, "/", a, b);
  if (*y == 0) run.fail("division by zero");
  const auto is_inexact = [](const Value& value) {
    return as_integer(value) && !is_exact_as_float(*as_integer(value));
  };
  if (is_inexact(a) || is_inexact(b)) run.refuse("a division of integers beyond 53 bits");
  return Value(*x / *y);
}

Value floor_divide(Run& run, const Value& a, const Value& b) {
  return require_numbers(
      run, "//", a, b,
      [&](int64_t i, int64_t j) {
        if (j == 0) run.fail("division by zero");
        if (j == -1) return subtract(run, Value(int64_t{0}), Value(i));
        const int64_t truncated = i / j;
        return Value(truncated - (i % j != 0 && (i < 0) != (j < 0) ? 1 : 0));
      },
      [&](double x, double y) {
        if (y == 0) run.fail("division by zero");
        return Value(float_floor_divide(x, y));
      });
}

Value modulo(Run& run, const Value& a, const Value& b) {
  if (a.is_string()) return make_string(run, format_printf(run, a, b));
  return require_numbers(
      run, "%", a, b,
      [&](int64_t i, int64_t j) {
        if (j == 0) run.fail("division by zero");
        if (j == -1) return Value(int64_t{0});
        const int64_t truncated = i % j;
        return Value(truncated != 0 && (truncated < 0) != (j < 0) ? truncated + j : truncated);
      },
      [&](double x, double y) {
        if (y == 0) run.fail("division by zero");
        return Value(float_modulo(x, y));
      });
}

Value power(Run& run, const Value& a, const Value& b) {
  return require_numbers(
      run, "**", a, b,
      [&](int64_t i, int64_t j) {
        if (j >= 0) return integer_power(run, i, j);
        return float_power(run, static_cast<double>(i), static_cast<double>(j));
      },
      [&](double x, double y) { return float_power(run, x, y); });
}

Value concatenate(Run& run, const Value& a, const Value& b) {
  Text text = to_text(run, a);
  const Text right = to_text(run, b);
  run.make(text.cost_bytes() + right.cost_bytes());
  text.append(right);
  return Value(std::move(text));
}

Value negate(Run& run, const Value& value) {
  if (value.is<double>()) return Value(-value.as<double>());
  if (!as_integer(value)) run.fail("'-' before " + std::string(value.kind()));
  return subtract(run, Value(int64_t{0}), value);
}

Value plus(Run& run, const Value& value) {
  if (value.is<double>()) return value;
  if (!as_integer(value)) run.fail("'+' before " + std::string(value.kind()));
  return Value(*as_integer(value));
}

Text escape_html(Run& run, const Value& value) {
  struct Entity {
    char character;
    std::string_view spelling;
  };
  constexpr std::array kEntities = {Entity{'&', "&amp;"}, Entity{'>', "&gt;"}, Entity{'<', "&lt;"},
                                    Entity{'\'', "&#39;"}, Entity{'"', "&#34;"}};
  Text text = to_text(run, value);
  if (value.is_markup()) return text;
  Text out;
  text.visit_runs([&](std::string_view bytes, Origin origin) {
    std::string escaped;
    for (const char c : bytes) {
      std::string_view spelling(&c, 1);
      for (const Entity& entity : kEntities) {
        if (entity.character == c) spelling = entity.spelling;
      }
      escaped += spelling;
    }
    run.make(escaped.size());
    out.append(escaped, origin);
  });
  return out;
}

}  // namespace slip::jinja
