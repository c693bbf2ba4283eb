// Text to token ids and back, as a checkpoint's tokenizer.json says: NFC, splitting by the file's
// own regular expression, byte-level BPE. What the file asks and this code does not know is refused
// when it is parsed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace slip {

enum class AddedTokens {
  kMatch,   // literal "<|im_end|>" in the text becomes its control token
  kIgnore,  // it is encoded like any other text: for text that nobody vouches for
};

inline constexpr size_t kTokenizerJsonBytesMax = size_t{256} << 20;
inline constexpr int32_t kTokenizerVocabMax = 1 << 20;

// Immutable once parsed; every method may be called from several threads.
class Tokenizer {
 public:
  // Reads the text of a tokenizer.json. `origin` names it in messages. Throws Error{kCorruptFile}
  // for a file that contradicts itself and Error{kUnsupportedModel}, naming key and value, for one
  // that asks more than is known: any model but BPE with all 256 byte symbols, any normalizer but
  // NFC, any pre-tokenizer but Split (Regex, Isolated) and ByteLevel (no prefix space, no regex of
  // its own), any post-processor that adds tokens, any decoder but ByteLevel, added tokens with
  // single_word.
  static Tokenizer parse(std::string_view tokenizer_json, const std::string& origin);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of `text`, nothing added in front or behind. Bytes that are not UTF-8 become U+FFFD
  // first, one for each maximal subpart of a broken character (Unicode 15, section 3.9). Time is n
  // log n in the length of the text at worst. Throws Error{kUnsupportedModel} when the file's
  // regular expression exceeds the match limits.
  std::vector<TokenId> encode(std::string_view text, AddedTokens mode) const;

  // The bytes that a token stands for; part of a character, possibly. Empty for ids that no token
  // has.
  std::string_view bytes(TokenId id) const;

  // Whether the file flags the token as special: not part of the answer's text. False for ids that
  // no token has.
  bool is_special(TokenId id) const;

  // One more than the largest id. Ids below it may be unused.
  int32_t vocab_size() const;

  // The id of a token by the file's spelling: "<|im_end|>", or "Ġthe" (byte symbols).
  std::optional<TokenId> find(std::string_view token) const;

  // The text of `ids`; bytes that form no character become U+FFFD, one for each maximal subpart.
  std::string decode(std::span<const TokenId> ids, bool skip_special) const;

 private:
  struct Parts;
  class Encoder;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);

  std::unique_ptr<const Parts> parts_;
};

}  // namespace slip
