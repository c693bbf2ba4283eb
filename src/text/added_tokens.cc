#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace slip {
namespace {

uint64_t edge(int32_t node, char byte) {
  return static_cast<uint64_t>(node) << 8 | static_cast<unsigned char>(byte);
}

CodePoint last_code_point(std::string_view text) {
  return first_code_point(
      text.substr(text.size() - static_cast<size_t>(last_code_point_bytes(text))));
}

bool touches_word(std::string_view text, ByteRange spelling) {
  const std::string_view front = text.substr(0, spelling.begin);
  const std::string_view back = text.substr(spelling.end);
  return (!front.empty() && is_word(last_code_point(front).value)) ||
         (!back.empty() && is_word(first_code_point(back).value));
}

// One split(): where the last token ended, and the stretches before it.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  void take(const AddedToken& token, ByteRange spelling) {
    const size_t begin = token.is_lstrip ? white_space_begin(spelling.begin) : spelling.begin;
    const size_t end = token.is_rstrip ? white_space_end(spelling.end) : spelling.end;
    if (begin > cut_) stretches_.push_back({std::nullopt, {cut_, begin}});
    // Nothing is left of a token that reaches back to where the one in front of it swallowed it.
    if (begin < end) stretches_.push_back({token.id, {}});
    cut_ = end;
  }

  std::vector<Stretch> finish() {
    if (cut_ < text_.size()) stretches_.push_back({std::nullopt, {cut_, text_.size()}});
    return std::move(stretches_);
  }

 private:
  // The front of the white space that ends at `end`, but nothing that was cut off already.
  size_t white_space_begin(size_t end) const {
    while (end > cut_) {
      const CodePoint c = last_code_point(text_.substr(0, end));
      if (!is_white_space(c.value)) break;
      end -= static_cast<size_t>(c.n_bytes);
    }
    return std::max(end, cut_);
  }

  // Remembers where the last white space ended: spellings made of white space would read it again
  // and again.
  size_t white_space_end(size_t begin) {
    if (begin >= space_.begin && begin < space_.end) return space_.end;
    space_ = {begin, begin};
    while (space_.end < text_.size()) {
      const CodePoint c = first_code_point(text_.substr(space_.end));
      if (!is_white_space(c.value)) break;
      space_.end += static_cast<size_t>(c.n_bytes);
    }
    return space_.end;
  }

  std::string_view text_;
  std::vector<Stretch> stretches_;
  size_t cut_ = 0;  // everything before is in a stretch
  ByteRange space_{};
};

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens) : tokens_(tokens) {
  for (size_t i = 0; i < tokens_.size(); ++i) add(tokens_[i], static_cast<int32_t>(i));
}

void AddedTokenMatcher::add(const AddedToken& token, int32_t number) {
  is_first_byte_[static_cast<unsigned char>(token.content.front())] = true;
  int32_t node = 0;
  for (const char byte : token.content) {
    const auto [child, is_new] =
        children_.try_emplace(edge(node, byte), static_cast<int32_t>(token_at_.size()));
    if (is_new) token_at_.push_back(-1);
    node = child->second;
  }
  token_at_[static_cast<size_t>(node)] = number;
}

const AddedToken* AddedTokenMatcher::longest_at(std::string_view text) const {
  if (!is_first_byte_[static_cast<unsigned char>(text.front())]) return nullptr;
  const AddedToken* found = nullptr;
  int32_t node = 0;
  for (const char byte : text) {
    const auto child = children_.find(edge(node, byte));
    if (child == children_.end()) break;
    node = child->second;
    const int32_t token = token_at_[static_cast<size_t>(node)];
    if (token >= 0) found = &tokens_[static_cast<size_t>(token)];
  }
  return found;
}

std::vector<Stretch> AddedTokenMatcher::split(std::string_view text,
                                              std::span<const ByteRange> ranges) const {
  Cutter cutter(text);
  for (const ByteRange range : ranges) {
    for (size_t i = range.begin; i < range.end;) {
      const AddedToken* token = longest_at(text.substr(i, range.end - i));
      if (token == nullptr) {
        ++i;
        continue;
      }
      const ByteRange spelling = {i, i + token->content.size()};
      if (!token->is_single_word || !touches_word(text, spelling)) cutter.take(*token, spelling);
      i = spelling.end;
    }
  }
  return cutter.finish();
}

}  // namespace slip
