#include "text/splitter.h"

#include <array>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/error.h"
#include "text/unicode.h"

namespace slip {
namespace {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const { kFree(object); }
};
template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Freed<T, kFree>>;

using Code = Owned<pcre2_code, pcre2_code_free>;
using CompileContext = Owned<pcre2_compile_context, pcre2_compile_context_free>;
using MatchContext = Owned<pcre2_match_context, pcre2_match_context_free>;
using MatchData = Owned<pcre2_match_data, pcre2_match_data_free>;
using JitStack = Owned<pcre2_jit_stack, pcre2_jit_stack_free>;

constexpr size_t kJitStackStartBytes = 32 << 10;

std::string reason(int code) {
  std::array<PCRE2_UCHAR, 256> text{};
  pcre2_get_error_message(code, text.data(), text.size());
  return reinterpret_cast<const char*>(text.data());
}

Code compile(const std::string& pattern, const std::string& origin, const SplitterLimits& limits) {
  const CompileContext context(pcre2_compile_context_create(nullptr));
  SLIP_CHECK(context != nullptr);
  pcre2_set_max_pattern_length(context.get(), limits.pattern_bytes_max);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  // Tokenizers are trained with Oniguruma, where ^ and $ always mean lines.
  const uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                          &error, &offset, context.get()));
  if (code == nullptr) {
    throw Error(ErrorCode::kUnsupportedModel,
                origin + ": pre_tokenizer Regex is not understood at byte " +
                    std::to_string(offset) + ": " + reason(error));
  }
  pcre2_jit_compile(code.get(),
                    PCRE2_JIT_COMPLETE);  // without it the interpreter gives the same matches
  return code;
}

// PCRE2 counts U+180E as \s; Unicode dropped it from White_Space in version 6.3 and tokenizers
// follow. The matcher sees U+200B in its place: as long in UTF-8, as much a format character, and
// no space.
constexpr std::string_view kVowelSeparator = "\xE1\xA0\x8E";
constexpr std::string_view kZeroWidthSpace = "\xE2\x80\x8B";

std::string without_vowel_separators(std::string_view text, size_t first) {
  std::string subject(text);
  for (size_t at = first; at != std::string::npos; at = subject.find(kVowelSeparator, at)) {
    subject.replace(at, kVowelSeparator.size(), kZeroWidthSpace);
  }
  return subject;
}

}  // namespace

struct Splitter::Compiled {
  Code code;
  std::string origin;
  SplitterLimits limits;
};

Splitter::Splitter(const std::string& pattern, const std::string& origin,
                   const SplitterLimits& limits)
    : compiled_(new Compiled{compile(pattern, origin, limits), origin, limits}) {}
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;
Splitter::~Splitter() = default;

void Splitter::split(std::string_view text, std::vector<std::string_view>& pieces) const {
  const auto& [code, origin, limits] = *compiled_;
  const size_t first_separator = text.find(kVowelSeparator);
  const std::string replaced = first_separator == std::string_view::npos
                                   ? std::string()
                                   : without_vowel_separators(text, first_separator);
  const std::string_view subject = replaced.empty() ? text : std::string_view(replaced);

  const MatchData data(pcre2_match_data_create(1, nullptr));  // only the whole match is asked for
  const MatchContext context(pcre2_match_context_create(nullptr));
  const JitStack stack(
      pcre2_jit_stack_create(kJitStackStartBytes, limits.match_stack_bytes_max, nullptr));
  SLIP_CHECK(data != nullptr && context != nullptr);
  pcre2_set_match_limit(context.get(), limits.match_steps_max);
  pcre2_set_heap_limit(context.get(), limits.match_heap_kib_max);
  pcre2_jit_stack_assign(context.get(), nullptr, stack.get());

  size_t cut = 0;
  const auto cut_at = [&](size_t at) {
    if (at > cut) pieces.push_back(text.substr(cut, at - cut));
    cut = std::max(cut, at);
  };
  for (size_t from = 0; from < subject.size();) {
    const int n_groups =
        pcre2_match(code.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), from,
                    PCRE2_NO_UTF_CHECK, data.get(), context.get());
    if (n_groups == PCRE2_ERROR_NOMATCH) break;
    if (n_groups < 0) {
      throw Error(ErrorCode::kUnsupportedModel,
                  origin + ": pre_tokenizer Regex fails on this text: " + reason(n_groups));
    }
    const PCRE2_SIZE* match = pcre2_get_ovector_pointer(data.get());
    const size_t begin = std::max(match[0], from);
    const size_t end = std::max(match[1], begin);
    cut_at(begin);
    cut_at(end);
    // An empty match cuts too, and the search goes on behind the next character.
    from = end > begin || end == subject.size()
               ? end
               : end + static_cast<size_t>(first_code_point(subject.substr(end)).n_bytes);
  }
  cut_at(text.size());
}

}  // namespace slip
