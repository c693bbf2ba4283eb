#include "text/unicode.h"

#include <algorithm>
#include <array>

#include <utf8proc.h>

#include "base/check.h"

namespace slip {
namespace {

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

bool is_word(char32_t value) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(value))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
      return true;
    case UTF8PROC_CATEGORY_CF:
      return value == 0x200C || value == 0x200D;  // Join_Control
    case UTF8PROC_CATEGORY_SO:  // letters in circles and squares, which are Other_Alphabetic
      return (value >= 0x24B6 && value <= 0x24E9) || (value >= 0x1F130 && value <= 0x1F149) ||
             (value >= 0x1F150 && value <= 0x1F169) || (value >= 0x1F170 && value <= 0x1F189);
    default:
      return false;
  }
}

}  // namespace slip
