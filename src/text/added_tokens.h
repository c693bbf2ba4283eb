// Finds the literal spellings of added tokens ("<|im_end|>") in text.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "text/byte_range.h"

namespace slip {

struct AddedToken {
  TokenId id;
  std::string content;          // never empty
  bool is_lstrip = false;       // swallows white space in front
  bool is_rstrip = false;       // swallows white space behind
  bool is_single_word = false;  // is none inside a word
  bool is_normalized = false;   // is looked for in normalized text
  bool is_special = false;
};

inline constexpr size_t kAddedTokenBytesMax = 1024;          // of one spelling
inline constexpr size_t kAddedTokenBytesTotalMax = 1 << 20;  // of all spellings together

// An added token, or a stretch of text between two of them.
struct Stretch {
  std::optional<TokenId> maybe_token;
  ByteRange text;  // if it is no token
};

class AddedTokenMatcher {
 public:
  // No two of one spelling.
  explicit AddedTokenMatcher(const std::vector<AddedToken>& tokens);

  bool is_empty() const { return tokens_.empty(); }

  // Cuts `text`, valid UTF-8, at the added tokens spelled inside one of `ranges`, leftmost first
  // and longest among those. The white space that a token swallows and the words that it may not
  // touch lie anywhere. Gives what the `tokenizers` library gives in its corners, too: a spelling
  // that was refused inside a word hides shorter and overlapping ones, and one that begins with
  // white space is found in what the token in front of it swallowed.
  //   ranges  ascending, without overlap, cut between characters
  // Linear in the text times the longest spelling.
  std::vector<Stretch> split(std::string_view text, std::span<const ByteRange> ranges) const;

 private:
  void add(const AddedToken& token, int32_t number);
  // The longest token at the front of `text`, or nullptr.
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  // A trie: the node behind each (node, byte), and the token that ends at a node, or -1.
  std::unordered_map<uint64_t, int32_t> children_;
  std::vector<int32_t> token_at_ = {-1};
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace slip
