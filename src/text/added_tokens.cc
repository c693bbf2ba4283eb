#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"

namespace slip {
namespace {

size_t white_space_bytes_at_end(std::string_view text) {
  size_t kept = text.size();
  while (kept > 0) {
    const auto n_bytes = static_cast<size_t>(last_code_point_bytes(text.substr(0, kept)));
    if (!is_white_space(first_code_point(text.substr(kept - n_bytes)).value)) break;
    kept -= n_bytes;
  }
  return text.size() - kept;
}

size_t white_space_bytes_at_front(std::string_view text) {
  size_t n_skipped = 0;
  while (n_skipped < text.size()) {
    const CodePoint c = first_code_point(text.substr(n_skipped));
    if (!is_white_space(c.value)) break;
    n_skipped += static_cast<size_t>(c.n_bytes);
  }
  return n_skipped;
}

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(std::vector<AddedToken> tokens)
    : tokens_(std::move(tokens)), nodes_(1) {
  for (size_t i = 0; i < tokens_.size(); ++i) add(tokens_[i].content, static_cast<int32_t>(i));
}

void AddedTokenMatcher::add(std::string_view spelling, int32_t token) {
  is_first_byte_[static_cast<unsigned char>(spelling.front())] = true;
  int32_t node = 0;
  for (const char byte : spelling) {
    int32_t next = child(node, byte);
    if (next < 0) {
      next = static_cast<int32_t>(nodes_.size());
      nodes_[static_cast<size_t>(node)].children.emplace_back(byte, next);
      nodes_.emplace_back();
    }
    node = next;
  }
  nodes_[static_cast<size_t>(node)].token = token;
}

int32_t AddedTokenMatcher::child(int32_t node, char byte) const {
  for (const auto& [key, next] : nodes_[static_cast<size_t>(node)].children) {
    if (key == byte) return next;
  }
  return -1;
}

const AddedToken* AddedTokenMatcher::longest_at(std::string_view text) const {
  const AddedToken* found = nullptr;
  int32_t node = 0;
  for (const char byte : text) {
    node = child(node, byte);
    if (node < 0) break;
    const int32_t token = nodes_[static_cast<size_t>(node)].token;
    if (token >= 0) found = &tokens_[static_cast<size_t>(token)];
  }
  return found;
}

std::vector<Stretch> AddedTokenMatcher::split(std::string_view text) const {
  std::vector<Stretch> stretches;
  size_t cut = 0;  // everything before is in a stretch
  for (size_t i = 0; i < text.size();) {
    const AddedToken* token =
        is_first_byte_[static_cast<unsigned char>(text[i])] ? longest_at(text.substr(i)) : nullptr;
    if (token == nullptr) {
      ++i;
      continue;
    }
    size_t begin = i;
    size_t end = i + token->content.size();
    if (token->is_lstrip) begin -= white_space_bytes_at_end(text.substr(cut, i - cut));
    if (token->is_rstrip) end += white_space_bytes_at_front(text.substr(end));
    if (begin > cut) stretches.push_back({text.substr(cut, begin - cut), std::nullopt});
    stretches.push_back({text.substr(begin, end - begin), token->id});
    cut = i = end;
  }
  if (cut < text.size()) stretches.push_back({text.substr(cut), std::nullopt});
  return stretches;
}

}  // namespace slip
