#include "text/unicode.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <utf8proc.h>

#include "base/check.h"

namespace slip {
namespace {

bool is_ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

// The first byte of a character: how many follow, and the range of the one that follows directly.
struct Lead {
  unsigned char first, last;
  int n_following;
  unsigned char next_min, next_max;
};
constexpr std::array kLeads = {
    Lead{0xC2, 0xDF, 1, 0x80, 0xBF}, Lead{0xE0, 0xE0, 2, 0xA0, 0xBF},
    Lead{0xE1, 0xEC, 2, 0x80, 0xBF}, Lead{0xED, 0xED, 2, 0x80, 0x9F},
    Lead{0xEE, 0xEF, 2, 0x80, 0xBF}, Lead{0xF0, 0xF0, 3, 0x90, 0xBF},
    Lead{0xF1, 0xF3, 3, 0x80, 0xBF}, Lead{0xF4, 0xF4, 3, 0x80, 0x8F},
};

struct Mark {
  utf8proc_int32_t value;
  int combining_class;
};

void append_decomposed(std::vector<Mark>& out, char32_t value) {
  std::array<utf8proc_int32_t, 8> parts;  // the longest canonical decomposition has 4
  int boundary = 0;
  const auto n_parts = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(value), parts.data(),
      static_cast<utf8proc_ssize_t>(parts.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE), &boundary);
  SLIP_CHECK(n_parts >= 0 && n_parts <= static_cast<utf8proc_ssize_t>(parts.size()));
  for (const auto part : std::span(parts).first(static_cast<size_t>(n_parts))) {
    out.push_back({part, utf8proc_get_property(part)->combining_class});
  }
}

// Canonical order: every run of combining marks sorted by class. utf8proc's own reordering is
// quadratic in the length of a run, which a hostile text can make as long as itself.
void sort_marks(std::vector<Mark>& marks) {
  for (auto run = marks.begin(); run != marks.end();) {
    if (run->combining_class == 0) {
      ++run;
      continue;
    }
    const auto end =
        std::find_if(run, marks.end(), [](const Mark& m) { return m.combining_class == 0; });
    std::stable_sort(run, end, [](const Mark& a, const Mark& b) {
      return a.combining_class < b.combining_class;
    });
    run = end;
  }
}

void append_nfc(std::string& out, std::string_view text) {
  std::vector<Mark> marks;
  while (!text.empty()) {
    const CodePoint c = first_code_point(text);
    append_decomposed(marks, c.value);
    text.remove_prefix(static_cast<size_t>(c.n_bytes));
  }
  sort_marks(marks);
  std::vector<utf8proc_int32_t> values;
  values.reserve(marks.size());
  for (const Mark& mark : marks) values.push_back(mark.value);
  const auto n_values =
      utf8proc_normalize_utf32(values.data(), static_cast<utf8proc_ssize_t>(values.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  SLIP_CHECK(n_values >= 0);
  for (size_t i = 0; i < static_cast<size_t>(n_values); ++i)
    append_utf8(out, static_cast<char32_t>(values[i]));
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const char32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const int n_bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  SLIP_CHECK(text.size() >= static_cast<size_t>(n_bytes));
  char32_t value = lead & (0x7Fu >> n_bytes);
  for (int i = 1; i < n_bytes; ++i) value = value << 6 | (byte(static_cast<size_t>(i)) & 0x3F);
  return {value, n_bytes};
}

int last_code_point_bytes(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return static_cast<int>(text.size() - begin);
}

void append_utf8(std::string& out, char32_t value) {
  if (value < 0x80) {
    out.push_back(static_cast<char>(value));
    return;
  }
  const int n_following = value < 0x800 ? 1 : value < 0x10000 ? 2 : 3;
  out.push_back(static_cast<char>((0xF80u >> n_following & 0xFF) | value >> 6 * n_following));
  for (int i = n_following - 1; i >= 0; --i) {
    out.push_back(static_cast<char>(0x80 | (value >> 6 * i & 0x3F)));
  }
}

void Utf8Repair::push(std::string_view bytes, std::string& out) {
  for (size_t i = 0; i < bytes.size();) {
    if (n_missing_ == 0 && is_ascii(bytes[i])) {
      const size_t begin = i;
      while (i < bytes.size() && is_ascii(bytes[i])) ++i;
      out.append(bytes.substr(begin, i - begin));
      continue;
    }
    push_byte(static_cast<unsigned char>(bytes[i++]), out);
  }
}

void Utf8Repair::push_byte(unsigned char byte, std::string& out) {
  if (n_missing_ > 0 && byte >= next_min_ && byte <= next_max_) {
    pending_.push_back(static_cast<char>(byte));
    next_min_ = 0x80;
    next_max_ = 0xBF;
    if (--n_missing_ == 0) {
      out += pending_;
      pending_.clear();
    }
    return;
  }
  finish(out);
  if (byte < 0x80) {
    out.push_back(static_cast<char>(byte));
    return;
  }
  const auto* lead = std::find_if(kLeads.begin(), kLeads.end(),
                                  [&](const Lead& l) { return byte >= l.first && byte <= l.last; });
  if (lead == kLeads.end()) {
    out += kReplacement;
    return;
  }
  pending_.push_back(static_cast<char>(byte));
  n_missing_ = lead->n_following;
  next_min_ = lead->next_min;
  next_max_ = lead->next_max;
}

void Utf8Repair::finish(std::string& out) {
  if (n_missing_ > 0) out += kReplacement;
  pending_.clear();
  n_missing_ = 0;
}

std::string repair_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  Utf8Repair repair;
  repair.push(bytes, out);
  repair.finish(out);
  return out;
}

bool is_white_space(char32_t value) {
  return (value >= 0x09 && value <= 0x0D) || value == 0x20 || value == 0x85 || value == 0xA0 ||
         value == 0x1680 || (value >= 0x2000 && value <= 0x200A) || value == 0x2028 ||
         value == 0x2029 || value == 0x202F || value == 0x205F || value == 0x3000;
}

bool is_python_space(char32_t value) {
  return (value >= 0x1C && value <= 0x1F) || is_white_space(value);
}

std::string nfc(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  // No character composes with a following ASCII character, so the text may be cut in front of
  // each; and an ASCII character is only touched by what follows it.
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_ascii(text[end])) ++end;
    const size_t n_kept = end - i - (end > i && end < text.size() ? 1 : 0);
    out.append(text.substr(i, n_kept));
    i += n_kept;
    while (end < text.size() && !is_ascii(text[end])) ++end;
    append_nfc(out, text.substr(i, end - i));
    i = end;
  }
  return out;
}

}  // namespace slip
