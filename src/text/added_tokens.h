// Finds the literal spellings of added tokens ("<|im_end|>") in text.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace slip {

struct AddedToken {
  TokenId id;
  std::string content;         // never empty
  bool is_lstrip = false;      // swallows white space in front
  bool is_rstrip = false;      // swallows white space behind
  bool is_normalized = false;  // is looked for in normalized text
  bool is_special = false;
};

inline constexpr size_t kAddedTokenBytesMax = 1024;          // of one spelling
inline constexpr size_t kAddedTokenBytesTotalMax = 1 << 20;  // of all spellings together

// A stretch of text that is one added token, or none.
struct Stretch {
  std::string_view text;
  std::optional<TokenId> maybe_token;
};

class AddedTokenMatcher {
 public:
  explicit AddedTokenMatcher(std::vector<AddedToken> tokens);

  // Cuts `text` at every added token, leftmost first and longest among those. No stretch without a
  // token is empty. Views into `text`. Linear in the text times the longest spelling.
  std::vector<Stretch> split(std::string_view text) const;

 private:
  struct Node {
    int32_t token = -1;  // the index in tokens_ of the spelling that ends here
    std::vector<std::pair<char, int32_t>> children;
  };
  void add(std::string_view spelling, int32_t token);
  int32_t child(int32_t node, char byte) const;
  // The longest token at the front of `text`, or nullptr.
  const AddedToken* longest_at(std::string_view text) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;  // a trie; nodes_[0] is the root
  std::array<bool, 256> is_first_byte_{};
};

}  // namespace slip
