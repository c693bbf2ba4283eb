#include "text/jinja_search.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "text/jinja_strings.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

constexpr size_t kNone = std::string_view::npos;

int64_t bound_of(int64_t n_max) { return n_max < 0 ? std::numeric_limits<int64_t>::max() : n_max; }

// "ab" with "-" at every border: "-a-b-".
Text with_borders(const Text& text, const Text& border, int64_t n_max) {
  Text out;
  const std::vector<size_t> offsets = code_point_offsets(text.bytes());
  for (size_t i = 0; i < offsets.size(); ++i) {
    if (n_max-- > 0) out.append(border);
    if (i + 1 < offsets.size()) out.append(text, offsets[i], offsets[i + 1] - offsets[i]);
  }
  return out;
}

size_t word_at_front(std::string_view text) {
  size_t n_bytes = 0;
  while (n_bytes < text.size()) {
    const CodePoint c = first_code_point(text.substr(n_bytes));
    if (is_python_space(c.value)) break;
    n_bytes += static_cast<size_t>(c.n_bytes);
  }
  return n_bytes;
}
size_t word_at_end(std::string_view text) {
  size_t n_kept = text.size();
  while (n_kept > 0) {
    const auto n_bytes = static_cast<size_t>(last_code_point_bytes(text.substr(0, n_kept)));
    if (is_python_space(first_code_point(text.substr(n_kept - n_bytes)).value)) break;
    n_kept -= n_bytes;
  }
  return text.size() - n_kept;
}

}  // namespace

size_t find_first(std::string_view text, std::string_view part, size_t begin) {
  if (begin > text.size()) return kNone;
  if (part.empty()) return begin;
  const std::string_view rest = text.substr(begin);
  const void* found = memmem(rest.data(), rest.size(), part.data(), part.size());
  return found == nullptr ? kNone
                          : static_cast<size_t>(static_cast<const char*>(found) - text.data());
}

size_t find_last(std::string_view text, std::string_view part, size_t end) {
  // The first occurrence in the mirror image.
  const std::string mirror(text.rend() - static_cast<ptrdiff_t>(end), text.rend());
  const std::string mirrored_part(part.rbegin(), part.rend());
  const size_t found = find_first(mirror, mirrored_part, 0);
  return found == kNone ? kNone : end - found - part.size();
}

int64_t count_of(std::string_view text, std::string_view part) {
  if (part.empty()) return static_cast<int64_t>(n_code_points(text)) + 1;
  int64_t count = 0;
  for (size_t at = find_first(text, part, 0); at != kNone;
       at = find_first(text, part, at + part.size())) {
    ++count;
  }
  return count;
}

Text replaced(Run& run, const Text& text, const Text& old_part, const Text& new_part,
              int64_t n_max) {
  n_max = bound_of(n_max);
  const auto n_replaced =
      static_cast<size_t>(std::min(n_max, count_of(text.bytes(), old_part.bytes())));
  run.step(text.size() + n_replaced);
  const size_t cost = new_part.cost_bytes() + sizeof(ByteRange);
  if (n_replaced > run.limits().made_bytes_max / cost) run.make(std::numeric_limits<size_t>::max());
  run.make(text.cost_bytes() + n_replaced * cost);
  if (old_part.size() == 0) return with_borders(text, new_part, n_max);
  Text out;
  size_t begin = 0;
  for (size_t i = 0; i < n_replaced; ++i) {
    const size_t at = find_first(text.bytes(), old_part.bytes(), begin);
    out.append(text, begin, at - begin);
    out.append(new_part);
    begin = at + old_part.size();
  }
  out.append(text, begin, text.size() - begin);
  return out;
}

std::vector<std::string_view> split_at(std::string_view text, std::string_view separator,
                                       const SplitOptions& options) {
  std::vector<std::string_view> parts;
  int64_t n_left = bound_of(options.n_max);
  if (options.from_end && options.n_max >= 0) {
    // Splits from the end are counted from the end, found in one pass over the mirror image.
    const std::string mirror(text.rbegin(), text.rend());
    const std::string mirrored(separator.rbegin(), separator.rend());
    size_t end = text.size();
    for (; n_left > 0; --n_left) {
      const size_t found = find_first(mirror, mirrored, text.size() - end);
      if (found == kNone) break;
      const size_t begin = text.size() - found;  // of the part behind the separator
      parts.push_back(text.substr(begin, end - begin));
      end = begin - separator.size();
    }
    parts.push_back(text.substr(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t begin = 0;
  for (; n_left > 0; --n_left) {
    const size_t at = find_first(text, separator, begin);
    if (at == kNone) break;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator.size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::vector<std::string_view> split_at_spaces(std::string_view text, const SplitOptions& options) {
  std::vector<std::string_view> parts;
  int64_t n_left = bound_of(options.n_max);
  if (options.from_end) {
    text.remove_suffix(python_spaces_at_end(text));
    for (; !text.empty() && n_left > 0; --n_left) {
      const size_t n_word = word_at_end(text);
      parts.push_back(text.substr(text.size() - n_word));
      text.remove_suffix(n_word);
      text.remove_suffix(python_spaces_at_end(text));
    }
  } else {
    text.remove_prefix(python_spaces_at_front(text));
    for (; !text.empty() && n_left > 0; --n_left) {
      const size_t n_word = word_at_front(text);
      parts.push_back(text.substr(0, n_word));
      text.remove_prefix(n_word);
      text.remove_prefix(python_spaces_at_front(text));
    }
  }
  if (!text.empty()) parts.push_back(text);
  if (options.from_end) std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace slip::jinja
