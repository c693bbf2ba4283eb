// Reads a row of tags in a text that may still grow: yes, no, or more bytes wanted.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace slip {

// White space between two tags: space, tab, line feed, carriage return. Bounded, so that a tag is
// held back for bounded time.
inline constexpr size_t kTagGapBytesMax = 64;

enum class TagMatch {
  kNo,
  kMaybe,  // everything fits so far, but the text is too short
  kYes,
};

// Parts are read one behind the other; after the first that is not kYes the rest does nothing.
class TagReading {
 public:
  TagReading(std::string_view text, size_t at) : text_(text), at_(at) {}

  // kTagGapBytesMax white-space bytes at most, then something else.
  TagReading& gap();
  TagReading& literal(std::string_view wanted);
  // A name and the `>` behind it: 1..kToolNameBytesMax bytes, no `<` and no control characters.
  TagReading& name(std::string& name);

  TagMatch match() const { return match_; }
  size_t at() const { return at_; }  // behind what was read, if match() is kYes

 private:
  std::string_view text_;
  size_t at_;
  TagMatch match_ = TagMatch::kYes;
};

}  // namespace slip
