// What a tokenizer.json says, checked: everything behind this border may be trusted.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "text/added_tokens.h"
#include "text/bpe.h"

namespace slip {

struct TokenizerSpec {
  std::unordered_map<std::string, TokenId> ids;  // by the file's spelling, added tokens included
  std::vector<std::string> bytes;  // [vocab_size] what each token stands for; empty: no such token
  std::vector<bool> is_special;    // [vocab_size]
  std::array<TokenId, 256> byte_ids;  // the token of each single byte
  std::vector<Merge> merges;          // in the order of their rank
  std::vector<AddedToken> added;
  std::vector<std::string> patterns;  // regular expressions, applied one after the other
  bool is_nfc = false;                // text is normalized first
  bool is_word_first = false;         // a word that is a token is not built by merges
  std::unordered_map<std::string, TokenId>
      words;  // if is_word_first: the model's tokens by their bytes
};

// Throws Error{kCorruptFile} or Error{kUnsupportedModel} as Tokenizer::parse() says.
TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& origin);

}  // namespace slip
