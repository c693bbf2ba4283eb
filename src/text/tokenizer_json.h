// What a tokenizer.json says, checked: everything behind this border may be trusted.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalize.h"
#include "text/splitter.h"

namespace slip {

// Hashes strings and views alike, so that a view finds its string.
struct TextHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using TokenIds = std::unordered_map<std::string, TokenId, TextHash, std::equal_to<>>;

struct TokenizerSpec {
  TokenIds ids;                    // by the file's spelling, added tokens included
  std::vector<std::string> bytes;  // [vocab_size] what each token stands for; empty: no such token
  std::vector<bool> is_special;    // [vocab_size]

  std::vector<AddedToken> added;  // spelled as they are looked for
  std::optional<NormalForm> maybe_form;
  std::vector<SplitRule> splits;            // applied one after the other
  std::optional<size_t> maybe_prefix_step;  // before that split, pieces get a space in front

  std::array<TokenId, 256> byte_ids;  // the token of each single byte
  std::vector<Merge> merges;          // in the order of their rank
  bool is_word_first = false;         // a word that is a token is not built by merges
  TokenIds words;                     // if is_word_first: the model's tokens by their bytes

  std::vector<TokenId> front, back;  // what the post-processor puts around a text
};

// Throws Error{kCorruptFile} or Error{kUnsupportedModel} as Tokenizer::parse() says.
TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& origin);

}  // namespace slip
