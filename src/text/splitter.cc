#include "text/splitter.h"

#include <algorithm>
#include <array>
#include <utility>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/check.h"
#include "base/error.h"
#include "text/regex_dialect.h"
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

Code compile(const SplitRule& rule, const std::string& origin, const SplitterLimits& limits) {
  const std::string pattern = rule.is_literal ? rule.pattern : to_pcre2(rule.pattern, origin);
  const CompileContext context(pcre2_compile_context_create(nullptr));
  SLIP_CHECK(context != nullptr);
  pcre2_set_max_pattern_length(context.get(), limits.pattern_bytes_max);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  // To Oniguruma ^ and $ always mean lines.
  const uint32_t options =
      PCRE2_UTF | (rule.is_literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_MULTILINE);
  int error = 0;
  PCRE2_SIZE offset = 0;
  Code code(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), options,
                          &error, &offset, context.get()));
  if (code == nullptr) {
    throw Error(ErrorCode::kUnsupportedModel,
                origin + ": Regex is not understood: " + reason(error));
  }
  // Where this fails, the interpreter gives the same matches.
  pcre2_jit_compile(code.get(), PCRE2_JIT_COMPLETE);
  return code;
}

// Whether a range belongs to the piece that `last` is the end of.
bool joins(SplitBehavior behavior, bool is_last_match, bool is_match) {
  switch (behavior) {
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      return false;
    case SplitBehavior::kMergedWithPrevious:
      return !is_last_match && is_match;
    case SplitBehavior::kMergedWithNext:
      return is_last_match && !is_match;
    case SplitBehavior::kContiguous:
      return is_last_match == is_match;
  }
  return false;
}

}  // namespace

struct Splitter::Compiled {
  Code code;
  SplitBehavior behavior;
  bool is_inverted;
  std::string origin;
};

struct Splitter::Scratch::Parts {
  MatchData data;
  MatchContext context;
  JitStack stack;
};

Splitter::Scratch::Scratch(const SplitterLimits& limits)
    : parts_(new Parts{
          MatchData(pcre2_match_data_create(1, nullptr)),  // only the whole match is asked for
          MatchContext(pcre2_match_context_create(nullptr)),
          JitStack(pcre2_jit_stack_create(kJitStackStartBytes, limits.match_stack_bytes_max,
                                          nullptr))}) {
  SLIP_CHECK(parts_->data != nullptr && parts_->context != nullptr);
  pcre2_set_match_limit(parts_->context.get(), limits.match_steps_max);
  pcre2_set_heap_limit(parts_->context.get(), limits.match_heap_kib_max);
  pcre2_jit_stack_assign(parts_->context.get(), nullptr, parts_->stack.get());
}
Splitter::Scratch::Scratch(Scratch&&) noexcept = default;
Splitter::Scratch& Splitter::Scratch::operator=(Scratch&&) noexcept = default;
Splitter::Scratch::~Scratch() = default;

Splitter::Splitter(const SplitRule& rule, const std::string& origin, const SplitterLimits& limits)
    : compiled_(
          new Compiled{compile(rule, origin, limits), rule.behavior, rule.is_inverted, origin}) {}
Splitter::Splitter(Splitter&&) noexcept = default;
Splitter& Splitter::operator=(Splitter&&) noexcept = default;
Splitter::~Splitter() = default;

// The next match. An empty one right behind the last match does not count.
std::optional<Splitter::Pieces::Range> Splitter::Pieces::find() {
  const Compiled& compiled = *splitter_.compiled_;
  const Scratch::Parts& scratch = *scratch_.parts_;
  while (from_ <= text_.size()) {
    const int n_groups =
        pcre2_match(compiled.code.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()), text_.size(),
                    from_, PCRE2_NO_UTF_CHECK, scratch.data.get(), scratch.context.get());
    if (n_groups == PCRE2_ERROR_NOMATCH) break;
    if (n_groups < 0) {
      throw Error(ErrorCode::kUnsupportedModel,
                  compiled.origin + ": Regex fails on this text: " + reason(n_groups));
    }
    const PCRE2_SIZE* match = pcre2_get_ovector_pointer(scratch.data.get());
    const size_t begin = std::max(match[0], from_);
    const size_t end = std::max(match[1], begin);
    const bool counts = end > begin || !has_matched_ || begin != cut_;
    from_ = end;
    if (end == begin) {
      from_ +=
          end < text_.size() ? static_cast<size_t>(first_code_point(text_.substr(end)).n_bytes) : 1;
    }
    if (counts) return Range{begin, end, true};
  }
  return std::nullopt;
}

// Matches and what lies between them, in order; matches may be empty.
std::optional<Splitter::Pieces::Range> Splitter::Pieces::next_range() {
  if (maybe_match_) return std::exchange(maybe_match_, std::nullopt);
  if (is_done_) return std::nullopt;
  const size_t begin = cut_;
  const std::optional<Range> match = find();
  if (!match) {
    is_done_ = true;
    if (begin == text_.size()) return std::nullopt;
    return Range{begin, text_.size(), false};
  }
  cut_ = match->end;
  has_matched_ = true;
  if (match->begin == begin) return match;
  maybe_match_ = match;
  return Range{begin, match->begin, false};
}

std::optional<std::string_view> Splitter::Pieces::next() {
  const auto [behavior, is_inverted] =
      std::pair(splitter_.compiled_->behavior, splitter_.compiled_->is_inverted);
  while (true) {
    std::optional<Range> piece =
        maybe_pending_ ? std::exchange(maybe_pending_, std::nullopt) : next_range();
    if (!piece) return std::nullopt;
    bool is_match = piece->is_match != is_inverted;
    if (behavior == SplitBehavior::kRemoved && is_match) continue;
    if (behavior != SplitBehavior::kIsolated && behavior != SplitBehavior::kRemoved) {
      while ((maybe_pending_ = next_range())) {
        const bool is_next_match = maybe_pending_->is_match != is_inverted;
        if (!joins(behavior, is_match, is_next_match)) break;
        piece->end = maybe_pending_->end;
        is_match = is_next_match;
      }
    }
    if (piece->end > piece->begin) return text_.substr(piece->begin, piece->end - piece->begin);
  }
}

}  // namespace slip
