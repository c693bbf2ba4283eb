// Cuts text into pieces at the matches of a pattern of the checkpoint itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace slip {

// What becomes of matches and of the stretches between them.
enum class SplitBehavior {
  kIsolated,            // each is a piece
  kRemoved,             // matches are left out
  kMergedWithPrevious,  // a match is one piece with the stretch in front of it,
  kMergedWithNext,      // or behind it
  kContiguous,          // matches that touch are one piece
};

struct SplitRule {
  std::string pattern;      // a regular expression in Oniguruma's words, or the text itself
  bool is_literal = false;  // the text itself
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool is_inverted = false;  // matches count as stretches between matches, and those as matches
};

// What one search may cost before it is given up: a pattern that backtracks without end is an
// Error.
struct SplitterLimits {
  size_t pattern_bytes_max = 1 << 16;
  uint32_t match_steps_max = 10'000'000;
  uint32_t match_heap_kib_max = 64 << 10;
  size_t match_stack_bytes_max = 1 << 20;
};

// Immutable; cut() may be called from several threads, with a Scratch for each.
class Splitter {
 public:
  // Compiles the rule's pattern. Throws Error{kUnsupportedModel} with `origin` and the reason if it
  // is no regular expression that both Oniguruma and PCRE2 know.
  Splitter(const SplitRule& rule, const std::string& origin, const SplitterLimits& limits = {});
  Splitter(Splitter&&) noexcept;
  Splitter& operator=(Splitter&&) noexcept;
  ~Splitter();

  // Working memory of searches, for any number of them and any splitter made with `limits`.
  class Scratch {
   public:
    explicit Scratch(const SplitterLimits& limits = {});
    Scratch(Scratch&&) noexcept;
    Scratch& operator=(Scratch&&) noexcept;
    ~Scratch();

   private:
    friend class Splitter;
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  // The pieces of one text, in order, none empty.
  class Pieces {
   public:
    // The next piece, a view into the text; nothing behind the last. Throws
    // Error{kUnsupportedModel} when a search hits a limit.
    std::optional<std::string_view> next();

   private:
    friend class Splitter;
    struct Range {
      size_t begin, end;
      bool is_match;
    };
    Pieces(const Splitter& splitter, Scratch& scratch, std::string_view text)
        : splitter_(splitter), scratch_(scratch), text_(text) {}
    std::optional<Range> next_range();
    std::optional<Range> find();

    const Splitter& splitter_;
    Scratch& scratch_;
    std::string_view text_;
    size_t from_ = 0;                     // where the next search begins
    size_t cut_ = 0;                      // the end of the last match
    bool has_matched_ = false;            // and whether there was one
    bool is_done_ = false;                // no further match
    std::optional<Range> maybe_match_;    // found behind a stretch that was given out
    std::optional<Range> maybe_pending_;  // read ahead, belongs to the next piece
  };

  // Cuts `text`, valid UTF-8. The splitter, the scratch and the text must outlive the answer.
  Pieces cut(std::string_view text, Scratch& scratch) const { return {*this, scratch, text}; }

 private:
  struct Compiled;
  std::unique_ptr<const Compiled> compiled_;
};

}  // namespace slip
