// json.dumps: the text of tojson.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "text/jinja_operations.h"
#include "text/jinja_show.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

struct ShortEscape {
  char32_t value;
  std::string_view spelling;
};
constexpr std::array kShortEscapes = {
    ShortEscape{U'"', "\\\""}, ShortEscape{U'\\', "\\\\"}, ShortEscape{U'\n', "\\n"},
    ShortEscape{U'\r', "\\r"}, ShortEscape{U'\t', "\\t"},  ShortEscape{U'\b', "\\b"},
    ShortEscape{U'\f', "\\f"},
};

void append_u_escape(std::string& out, char32_t unit) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[unit >> shift & 0xF];
}

void append_escaped(std::string& out, std::string_view character, bool is_ascii) {
  const char32_t value = first_code_point(character).value;
  const auto short_escape =
      std::find_if(kShortEscapes.begin(), kShortEscapes.end(),
                   [value](const ShortEscape& escape) { return escape.value == value; });
  if (short_escape != kShortEscapes.end()) {
    out += short_escape->spelling;
  } else if (value < 0x20 || (is_ascii && value >= 0x7F && value <= 0xFFFF)) {
    append_u_escape(out, value);
  } else if (is_ascii && value > 0xFFFF) {
    append_u_escape(out, 0xD800 + ((value - 0x10000) >> 10));
    append_u_escape(out, 0xDC00 + ((value - 0x10000) & 0x3FF));
  } else {
    out += character;
  }
}

std::string json_float(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return float_repr(value);
}

class JsonWriter {
 public:
  JsonWriter(Run& run, const JsonStyle& style)
      : run_(run),
        style_(style),
        between_(style.maybe_between.value_or(Text(style.maybe_indent ? "," : ", "))),
        colon_(style.maybe_colon.value_or(Text(": "))) {}

  Text take() { return std::move(out_); }

  void write(const Value& value) {
    run_.step();
    std::visit(*this, value.data());
  }

  void operator()(None) { append("null"); }
  void operator()(bool value) { append(value ? "true" : "false"); }
  void operator()(int64_t value) { append(std::to_string(value)); }
  void operator()(double value) { append(json_float(value)); }
  void operator()(const String& value) { write_string(*value.text); }
  void operator()(const List& value) {
    const bool is_array = value.kind == ListKind::kList || value.kind == ListKind::kTuple ||
                          value.kind == ListKind::kGroup;
    if (!is_array) run_.fail("tojson of a range or a view");
    if (value.elements->empty()) return append("[]");
    append("[");
    ++level_;
    bool is_first = true;
    for (const Value& element : *value.elements) {
      begin_element(std::exchange(is_first, false));
      write(element);
    }
    --level_;
    end_elements();
    append("]");
  }
  void operator()(const Mapping& value) {
    if (value.entries->empty()) return append("{}");
    append("{");
    ++level_;
    bool is_first = true;
    for (const auto* entry : entries_in_order(*value.entries)) {
      begin_element(std::exchange(is_first, false));
      write_key(entry->first);
      append(colon_);
      write(entry->second);
    }
    --level_;
    end_elements();
    append("}");
  }
  template <class Other>
  void operator()(const Other&) {
    run_.fail("tojson of something that JSON cannot say");
  }

 private:
  std::vector<const Entries::value_type*> entries_in_order(const Entries& entries) {
    std::vector<const Entries::value_type*> order;
    for (const auto& entry : entries) order.push_back(&entry);
    if (style_.has_sorted_keys) {
      std::stable_sort(order.begin(), order.end(), [this](const auto* a, const auto* b) {
        return compare(run_, a->first, b->first) < 0;
      });
    }
    return order;
  }

  void write_key(const Value& key) {
    if (key.is_string()) return write_string(key.text());
    const bool is_scalar =
        key.is<None>() || key.is<bool>() || key.is<int64_t>() || key.is<double>();
    if (!is_scalar) run_.fail("tojson of a mapping with a key that is " + std::string(key.kind()));
    append("\"");
    write(key);
    append("\"");
  }

  void write_string(const Text& text) {
    run_.step(text.size());
    append("\"");
    text.visit_runs([this](std::string_view bytes, Origin origin) {
      std::string escaped;
      while (!bytes.empty()) {
        const auto n_bytes = static_cast<size_t>(first_code_point(bytes).n_bytes);
        append_escaped(escaped, bytes.substr(0, n_bytes), style_.is_ascii);
        bytes.remove_prefix(n_bytes);
      }
      run_.make(escaped.size() + sizeof(ByteRange));
      out_.append(escaped, origin);
    });
    append("\"");
  }

  void begin_element(bool is_first) {
    if (!is_first) append(between_);
    break_line();
  }
  void end_elements() { break_line(); }
  void break_line() {
    if (!style_.maybe_indent) return;
    append("\n");
    for (int i = 0; i < level_; ++i) append(*style_.maybe_indent);
  }

  void append(std::string_view text) {
    run_.make(text.size());
    out_.append(text, Origin::kTemplate);
  }
  void append(const char* text) { append(std::string_view(text)); }
  void append(const std::string& text) { append(std::string_view(text)); }
  void append(const Text& text) {
    run_.make(text.cost_bytes());
    out_.append(text);
  }

  Run& run_;
  const JsonStyle& style_;
  const Text between_, colon_;
  Text out_;
  int level_ = 0;
};

}  // namespace

Text to_json(Run& run, const Value& value, const JsonStyle& style) {
  JsonWriter writer(run, style);
  writer.write(value);
  return writer.take();
}

}  // namespace slip::jinja
