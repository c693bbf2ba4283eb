#include "text/jinja_text.h"

#include <algorithm>
#include <utility>

namespace slip::jinja {

Text::Text(std::string bytes, Origin origin) : bytes_(std::move(bytes)) {
  if (origin == Origin::kConversation) add_untrusted(0, bytes_.size());
}

void Text::add_untrusted(size_t begin, size_t end) {
  if (begin == end) return;
  if (!untrusted_.empty() && untrusted_.back().end == begin) {
    untrusted_.back().end = end;
  } else {
    untrusted_.push_back({begin, end});
  }
}

void Text::append(std::string_view bytes, Origin origin) {
  const size_t begin = bytes_.size();
  bytes_ += bytes;
  if (origin == Origin::kConversation) add_untrusted(begin, bytes_.size());
}

void Text::append(const Text& text) { append(text, 0, text.size()); }

void Text::append(const Text& text, size_t begin, size_t n_bytes) {
  const size_t own_begin = bytes_.size();
  const size_t end = begin + n_bytes;
  bytes_.append(text.bytes_, begin, n_bytes);
  auto range = std::upper_bound(text.untrusted_.begin(), text.untrusted_.end(), begin,
                                [](size_t offset, const ByteRange& r) { return offset < r.end; });
  for (; range != text.untrusted_.end() && range->begin < end; ++range) {
    add_untrusted(own_begin + std::max(range->begin, begin) - begin,
                  own_begin + std::min(range->end, end) - begin);
  }
}

Text Text::part(size_t begin, size_t n_bytes) const {
  Text text;
  text.append(*this, begin, n_bytes);
  return text;
}

Text Text::part(std::string_view view) const {
  return view.empty() ? Text()
                      : part(static_cast<size_t>(view.data() - bytes_.data()), view.size());
}

Origin Text::origin_at(size_t offset) const {
  const auto range = std::upper_bound(untrusted_.begin(), untrusted_.end(), offset,
                                      [](size_t at, const ByteRange& r) { return at < r.end; });
  const bool is_inside = range != untrusted_.end() && range->begin <= offset;
  return is_inside ? Origin::kConversation : Origin::kTemplate;
}

}  // namespace slip::jinja
