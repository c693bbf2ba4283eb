// A string that knows which of its bytes the conversation brought. Every string operation of the
// interpreter is made of the few below, so that this survives slicing, joining and replacing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_range.h"

namespace slip::jinja {

enum class Origin : uint8_t {
  kTemplate,      // written by the template's author, or computed from numbers
  kConversation,  // out of messages, tools or documents: nobody vouches for it
};

class Text {
 public:
  Text() = default;
  explicit Text(std::string bytes, Origin origin = Origin::kTemplate);

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  // The bytes of the conversation: ascending, none empty, none touching the next.
  const std::vector<ByteRange>& untrusted() const { return untrusted_; }
  // What the text takes in memory.
  size_t cost_bytes() const { return bytes_.size() + untrusted_.size() * sizeof(ByteRange); }

  void append(std::string_view bytes, Origin origin);
  void append(const Text& text);
  // The `n_bytes` of `text` from `begin`, which it has. Not of itself.
  void append(const Text& text, size_t begin, size_t n_bytes);

  Text part(size_t begin, size_t n_bytes) const;
  // `view` points into bytes().
  Text part(std::string_view view) const;
  Origin origin_at(size_t offset) const;

  // Calls visit(std::string_view bytes, Origin origin) for every stretch of one origin, in order.
  template <class Visit>
  void visit_runs(Visit visit) const {
    const std::string_view all = bytes_;
    size_t at = 0;
    for (const auto& [begin, end] : untrusted_) {
      if (begin > at) visit(all.substr(at, begin - at), Origin::kTemplate);
      visit(all.substr(begin, end - begin), Origin::kConversation);
      at = end;
    }
    if (at < all.size()) visit(all.substr(at), Origin::kTemplate);
  }

 private:
  // Notes that [begin, end), at the end of the bytes, is the conversation's.
  void add_untrusted(size_t begin, size_t end);

  std::string bytes_;
  std::vector<ByteRange> untrusted_;
};

}  // namespace slip::jinja
