#include "text/normalize.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <utf8proc.h>

#include "base/check.h"
#include "text/unicode.h"

namespace slip {
namespace {

struct FormRow {
  NormalForm form;
  bool is_compatible;  // characters that only look different become the same
  bool is_composed;
};
constexpr std::array kForms = {
    FormRow{NormalForm::kNfc, false, true}, FormRow{NormalForm::kNfd, false, false},
    FormRow{NormalForm::kNfkc, true, true}, FormRow{NormalForm::kNfkd, true, false}};

const FormRow& row_of(NormalForm form) {
  return *std::find_if(kForms.begin(), kForms.end(),
                       [&](const FormRow& row) { return row.form == form; });
}

using Decomposition = std::array<utf8proc_int32_t, 32>;  // the longest has 18 parts

std::span<const utf8proc_int32_t> decompose(Decomposition& parts, char32_t value,
                                            const FormRow& form) {
  int boundary = 0;
  const auto n_parts = utf8proc_decompose_char(
      static_cast<utf8proc_int32_t>(value), parts.data(),
      static_cast<utf8proc_ssize_t>(parts.size()),
      static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                     (form.is_compatible ? UTF8PROC_COMPAT : 0)),
      &boundary);
  SLIP_CHECK(n_parts > 0 && n_parts <= static_cast<utf8proc_ssize_t>(parts.size()));
  return std::span(parts).first(static_cast<size_t>(n_parts));
}

// Of a decomposed character: it stays where it is and composes with nothing in front of it. Only
// marks and the vowels and final consonants of Hangul do.
bool starts_anew(utf8proc_int32_t value) {
  if (value < 0x300) return true;
  if (value >= 0x1160 && value <= 0x11FF) return false;
  const utf8proc_category_t category = utf8proc_category(value);
  return category != UTF8PROC_CATEGORY_MN && category != UTF8PROC_CATEGORY_MC &&
         category != UTF8PROC_CATEGORY_ME;
}

class Normalizer {
 public:
  explicit Normalizer(NormalForm form) : form_(row_of(form)) {}

  void append(std::string_view text, std::string& out) {
    marks_.clear();
    while (!text.empty()) {
      const CodePoint c = first_code_point(text);
      for (const auto part : decompose(parts_, c.value, form_)) {
        marks_.push_back({part, utf8proc_get_property(part)->combining_class});
      }
      text.remove_prefix(static_cast<size_t>(c.n_bytes));
    }
    sort_marks();
    values_.clear();
    for (const Mark& mark : marks_) values_.push_back(mark.value);
    if (form_.is_composed) compose();
    for (const auto value : values_) append_utf8(out, static_cast<char32_t>(value));
  }

 private:
  struct Mark {
    utf8proc_int32_t value;
    int combining_class;
  };

  // Canonical order: every run of combining marks sorted by class. utf8proc's own reordering is
  // quadratic in the length of a run, which a hostile text can make as long as itself.
  void sort_marks() {
    const auto is_starter = [](const Mark& m) { return m.combining_class == 0; };
    for (auto run = marks_.begin(); run != marks_.end();) {
      const auto begin = std::find_if_not(run, marks_.end(), is_starter);
      run = std::find_if(begin, marks_.end(), is_starter);
      std::stable_sort(begin, run, [](const Mark& a, const Mark& b) {
        return a.combining_class < b.combining_class;
      });
    }
  }

  void compose() {
    const auto n_values = utf8proc_normalize_utf32(
        values_.data(), static_cast<utf8proc_ssize_t>(values_.size()),
        static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
    SLIP_CHECK(n_values >= 0);
    values_.resize(static_cast<size_t>(n_values));
  }

  const FormRow& form_;
  Decomposition parts_{};
  std::vector<Mark> marks_;
  std::vector<utf8proc_int32_t> values_;
};

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  std::string out;
  out.reserve(text.size());
  Normalizer normalizer(form);
  // No character composes with a following ASCII character, so the text may be cut in front of
  // each; and an ASCII character is only touched by what follows it.
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && is_ascii(text[end])) ++end;
    const size_t n_kept = end - i - (end > i && end < text.size() ? 1 : 0);
    out.append(text.substr(i, n_kept));
    i += n_kept;
    while (end < text.size() && !is_ascii(text[end])) ++end;
    normalizer.append(text.substr(i, end - i), out);
    i = end;
  }
  return out;
}

NormalForm combined(NormalForm first, NormalForm second) {
  // What compatibility took away does not come back; only the last step composes.
  const bool is_compatible = row_of(first).is_compatible || row_of(second).is_compatible;
  const bool is_composed = row_of(second).is_composed;
  return std::find_if(kForms.begin(), kForms.end(),
                      [&](const FormRow& row) {
                        return row.is_compatible == is_compatible && row.is_composed == is_composed;
                      })
      ->form;
}

bool is_normalized_apart(std::string_view text, NormalForm form) {
  Decomposition parts{};
  return starts_anew(decompose(parts, first_code_point(text).value, row_of(form)).front());
}

}  // namespace slip
