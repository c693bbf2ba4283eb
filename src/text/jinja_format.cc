#include "text/jinja_format.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "text/jinja_operations.h"
#include "text/jinja_show.h"
#include "text/jinja_strings.h"

namespace slip::jinja {
namespace {

constexpr int64_t kWidthMax = 1000;  // of a field; a template that wants more is a mistake

struct Field {
  bool is_left = false, has_plus = false, has_space = false, has_zeros = false;
  int64_t width = 0;
  int64_t precision = -1;  // not given
  char conversion = 's';
};

// One %-field behind its percent sign.
class FieldReader {
 public:
  FieldReader(Run& run, std::string_view rest) : run_(run), rest_(rest) {}

  Field read() {
    Field field;
    while (!rest_.empty() && read_flag(field)) {
    }
    field.width = read_number();
    if (take('.')) field.precision = read_number();
    if (rest_.empty()) run_.fail("a format that ends inside of a field");
    field.conversion = rest_[0];
    rest_.remove_prefix(1);
    return field;
  }
  std::string_view rest() const { return rest_; }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool read_flag(Field& field) {
    const std::array<std::pair<char, bool*>, 4> flags = {{{'-', &field.is_left},
                                                          {'+', &field.has_plus},
                                                          {' ', &field.has_space},
                                                          {'0', &field.has_zeros}}};
    for (const auto& [c, is_set] : flags) {
      if (!take(c)) continue;
      *is_set = true;
      return true;
    }
    return false;
  }
  int64_t read_number() {
    int64_t number = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (read.ec == std::errc::invalid_argument) return 0;
    if (read.ec != std::errc() || number > kWidthMax || number < 0) {
      run_.refuse("a format field wider than " + std::to_string(kWidthMax));
    }
    rest_.remove_prefix(static_cast<size_t>(read.ptr - rest_.data()));
    return number;
  }

  Run& run_;
  std::string_view rest_;
};

std::string sign_of(bool is_negative, const Field& field) {
  return is_negative ? "-" : field.has_plus ? "+" : field.has_space ? " " : "";
}

std::string digits_of(uint64_t value, int base) {
  std::array<char, 24> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, base);
  return {buffer.data(), end.ptr};
}

// Sign and digits apart, so that zeros can go between.
struct Number {
  std::string sign, digits;
};

Number integer_digits(Run& run, const Value& value, const Field& field) {
  int64_t integer = 0;
  if (const auto exact = as_integer(value)) {
    integer = *exact;
  } else if (value.is<double>() && (field.conversion == 'd' || field.conversion == 'i')) {
    const double truncated = std::trunc(value.as<double>());
    if (!(std::abs(truncated) < 9.2e18)) run.refuse("an integer beyond 64 bits");
    integer = static_cast<int64_t>(truncated);
  } else {
    run.fail("'%" + std::string(1, field.conversion) + "' of " + std::string(value.kind()));
  }
  const bool is_hex = field.conversion == 'x' || field.conversion == 'X';
  const auto size =
      integer < 0 ? ~static_cast<uint64_t>(integer) + 1 : static_cast<uint64_t>(integer);
  std::string digits = digits_of(size, is_hex ? 16 : 10);
  if (field.conversion == 'X') {
    std::transform(digits.begin(), digits.end(), digits.begin(),
                   [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  }
  if (static_cast<int64_t>(digits.size()) < field.precision) {
    digits.insert(0, static_cast<size_t>(field.precision) - digits.size(), '0');
  }
  return {sign_of(integer < 0, field), digits};
}

Number float_digits(Run& run, const Value& value, const Field& field) {
  const auto number = as_float(value);
  if (!number) run.fail("'%f' of " + std::string(value.kind()));
  if (!std::isfinite(*number)) run.refuse("'%f' of inf or nan");
  const int precision = field.precision < 0 ? 6 : static_cast<int>(field.precision);
  std::array<char, 2 * kWidthMax> buffer;
  const auto layout =
      field.conversion == 'f' ? std::chars_format::fixed : std::chars_format::scientific;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(*number),
                                 layout, precision);
  return {sign_of(std::signbit(*number), field), {buffer.data(), end.ptr}};
}

Text padded(Run& run, Text body, const Field& field) {
  const auto width = static_cast<int64_t>(n_code_points(body.bytes()));
  if (width >= field.width) return body;
  const std::string spaces(static_cast<size_t>(field.width - width), ' ');
  run.make(spaces.size());
  if (field.is_left) {
    body.append(spaces, Origin::kTemplate);
    return body;
  }
  Text out(spaces);
  out.append(body);
  return out;
}

Text converted(Run& run, const Value& value, const Field& field) {
  if (field.conversion == 's' || field.conversion == 'r') {
    Text text = field.conversion == 's' ? to_text(run, value) : to_repr(run, value);
    const auto size = static_cast<int64_t>(n_code_points(text.bytes()));
    if (field.precision >= 0 && field.precision < size) {
      text = text.part(0, byte_offset(text.bytes(), static_cast<size_t>(field.precision)));
    }
    return padded(run, std::move(text), field);
  }
  const bool is_integer = std::string_view("dixX").find(field.conversion) != std::string_view::npos;
  const bool is_float = field.conversion == 'f' || field.conversion == 'e';
  if (!is_integer && !is_float) {
    run.refuse("format '%" + std::string(1, field.conversion) + "'");
  }
  const auto [sign, digits] =
      is_integer ? integer_digits(run, value, field) : float_digits(run, value, field);
  const auto n_zeros = field.width - static_cast<int64_t>(sign.size() + digits.size());
  const bool is_filled = field.has_zeros && !field.is_left && n_zeros > 0;
  const std::string zeros(is_filled ? static_cast<size_t>(n_zeros) : 0, '0');
  return padded(run, Text(sign + zeros + digits), field);
}

// The replacement field between two braces.
const Value& field_value(Run& run, std::string_view field, const Arguments& arguments,
                         size_t& n_automatic) {
  if (field.find_first_of(".[!:{") != std::string_view::npos) {
    run.refuse("format field '{" + std::string(field.substr(0, 40)) + "}'");
  }
  size_t position = 0;
  const auto read = std::from_chars(field.data(), field.data() + field.size(), position);
  const bool is_position = !field.empty() && read.ptr == field.data() + field.size();
  if (field.empty()) position = n_automatic++;
  if (field.empty() || is_position) {
    if (position < arguments.positional.size()) return arguments.positional[position];
    run.fail("format has no argument " + std::to_string(position));
  }
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& argument) { return argument.first == field; });
  if (found == arguments.named.end())
    run.fail("format has no argument '" + std::string(field) + "'");
  return found->second;
}

}  // namespace

Text format_printf(Run& run, const Value& format, const Value& values) {
  if (format.is_markup()) run.refuse("'%' of an escaped string");
  const bool is_tuple = values.is_list(ListKind::kTuple);
  size_t n_used = 0;
  const auto next_value = [&]() -> const Value& {
    const size_t n_values = is_tuple ? values.elements().size() : 1;
    if (n_used >= n_values) run.fail("not enough values for the format");
    return is_tuple ? values.elements()[n_used++] : (++n_used, values);
  };
  const Text& text = format.text();
  std::string_view rest = text.bytes();
  Text out;
  run.step(rest.size());
  while (!rest.empty()) {
    const size_t percent = std::min(rest.find('%'), rest.size());
    out.append(text.part(rest.substr(0, percent)));
    if (percent == rest.size()) break;
    if (rest.substr(percent + 1).starts_with('(')) run.refuse("format '%(name)'");
    FieldReader reader(run, rest.substr(percent + 1));
    const Field field = reader.read();
    rest = reader.rest();
    if (field.conversion == '%') {
      out.append("%", Origin::kTemplate);
    } else {
      out.append(converted(run, next_value(), field));
    }
    run.step();
  }
  const bool takes_rest =
      values.is<Mapping>() || values.is<Undefined>() || values.is_list(ListKind::kList);
  if (is_tuple ? n_used < values.elements().size() : n_used == 0 && !takes_rest) {
    run.fail("not all values are used by the format");
  }
  return out;
}

Text format_braces(Run& run, const Text& format, const Arguments& arguments) {
  std::string_view rest = format.bytes();
  size_t n_automatic = 0;
  Text out;
  run.step(rest.size());
  while (!rest.empty()) {
    const size_t brace = std::min(rest.find_first_of("{}"), rest.size());
    out.append(format.part(rest.substr(0, brace)));
    rest.remove_prefix(brace);
    if (rest.empty()) break;
    if (rest.size() > 1 && rest[1] == rest[0]) {
      out.append(format.part(rest.substr(0, 1)));
      rest.remove_prefix(2);
      continue;
    }
    const size_t end = rest.find('}');
    if (rest[0] == '}' || end == std::string_view::npos) run.fail("a single brace in a format");
    const Text shown =
        to_text(run, field_value(run, rest.substr(1, end - 1), arguments, n_automatic));
    out.append(shown);
    rest.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace slip::jinja
