#include "text/jinja_show.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "text/jinja_ast.h"
#include "text/jinja_loop.h"
#include "text/jinja_strings.h"

namespace slip::jinja {
namespace {

// What stands around the elements of a list and its like.
struct Brackets {
  std::string_view open, close;
};
constexpr std::array<Brackets, 7> kBrackets = {{
    {"[", "]"},
    {"(", ")"},
    {"(", ")"},
    {"", ""},
    {"dict_keys([", "])"},
    {"dict_values([", "])"},
    {"dict_items([", "])"},
}};

// Shows values the way str() and, inside of others, repr() do.
class Writer {
 public:
  explicit Writer(Run& run) : run_(run) {}

  void write(const Value& value, bool is_inside) {
    run_.step();
    is_inside_ = is_inside;
    std::visit(*this, value.data());
  }
  Text take() { return std::move(out_); }

  void operator()(Undefined) { append(is_inside_ ? "Undefined" : ""); }
  void operator()(None) { append("None"); }
  void operator()(bool value) { append(value ? "True" : "False"); }
  void operator()(int64_t value) { append(std::to_string(value)); }
  void operator()(double value) { append(float_repr(value)); }
  void operator()(const String& value) {
    const Text& text = *value.text;
    run_.step(text.size());
    run_.make(text.cost_bytes());
    if (!is_inside_) return out_.append(text);
    if (value.is_markup) run_.refuse("a list that shows escaped strings");
    out_.append(repr(text));
  }
  void operator()(const List& value) {
    if (value.kind == ListKind::kRange) run_.refuse("printing a range");
    const Brackets& brackets = kBrackets[static_cast<size_t>(value.kind)];
    append(brackets.open);
    bool is_first = true;
    for (const Value& element : *value.elements) {
      if (!std::exchange(is_first, false)) append(", ");
      write(element, true);
    }
    const bool is_tuple = value.kind == ListKind::kTuple || value.kind == ListKind::kGroup;
    if (is_tuple && value.elements->size() == 1) append(",");
    append(brackets.close);
  }
  void operator()(const Mapping& value) { write_entries(*value.entries); }
  void operator()(const Namespace& value) {
    append("<Namespace ");
    write_entries(value.state->attributes);
    append(">");
  }
  void operator()(const Macro& value) {
    append("<Macro " + repr(Text(value.definition->name)).bytes() + ">");
  }
  void operator()(const Loop& value) {
    append("<LoopContext " + std::to_string(value.state->index0 + 1) + "/" +
           std::to_string(value.state->length()) + ">");
  }
  void operator()(const Iterator&) { run_.fail("printing an iterator"); }
  void operator()(const Method&) { run_.fail("printing a method"); }
  void operator()(const Function&) { run_.fail("printing a function"); }

 private:
  void write_entries(const Entries& entries) {
    append("{");
    bool is_first = true;
    for (const auto& [key, value] : entries) {
      if (!std::exchange(is_first, false)) append(", ");
      write(key, true);
      append(": ");
      write(value, true);
    }
    append("}");
  }
  void append(std::string_view text) {
    run_.make(text.size());
    out_.append(text, Origin::kTemplate);
  }

  Run& run_;
  Text out_;
  bool is_inside_ = false;
};

}  // namespace

Text to_text(Run& run, const Value& value) {
  Writer writer(run);
  writer.write(value, /*is_inside=*/false);
  return writer.take();
}

Text to_repr(Run& run, const Value& value) {
  Writer writer(run);
  writer.write(value, /*is_inside=*/true);
  return writer.take();
}

std::string float_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                 std::chars_format::scientific);
  // [-]d[.ddd]e+xx: the shortest digits, which Python then lays out by its own rule.
  std::string_view written(buffer.data(), static_cast<size_t>(end.ptr - buffer.data()));
  std::string out;
  if (written[0] == '-') {
    out = "-";
    written.remove_prefix(1);
  }
  const size_t e = written.find('e');
  const int exponent = std::atoi(std::string(written.substr(e + 1)).c_str());
  std::string digits(1, written[0]);
  if (e > 2) digits += written.substr(2, e - 2);
  const int n_digits = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits.substr(0, 1);
    if (n_digits > 1) out += "." + digits.substr(1);
    const std::string size = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (size.size() < 2 ? "0" : "") + size;
  }
  if (exponent < 0) {
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  if (n_digits <= exponent + 1) {
    return out + digits + std::string(static_cast<size_t>(exponent + 1 - n_digits), '0') + ".0";
  }
  const auto point = static_cast<size_t>(exponent + 1);
  return out + digits.substr(0, point) + "." + digits.substr(point);
}

}  // namespace slip::jinja
