// Text to token ids and back, as a checkpoint's tokenizer.json says: normalization, splitting by
// the file's own patterns, byte-level BPE. What the file asks and this code does not know is
// refused when it is parsed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "text/byte_range.h"

namespace slip {

enum class AddedTokens {
  kMatch,   // literal "<|im_end|>" in the text becomes its control token
  kIgnore,  // it is encoded like any other text: for text that nobody vouches for
};

// What the ids of a text begin and end with.
enum class Frame {
  kNone,      // its own first and last: a rendered chat template spells what the model wants
  kFromFile,  // what the file's post-processor puts there (llama 3: its BOS): for plain prompts
};

inline constexpr int32_t kTokenizerVocabMax = 1 << 20;

// Immutable once parsed; every method may be called from several threads.
class Tokenizer {
 public:
  // Reads the text of a tokenizer.json. `origin` names it in messages. Throws Error{kCorruptFile}
  // for a file that contradicts itself and Error{kUnsupportedModel}, naming key and value, for one
  // that asks more than is known:
  //   model           BPE with all 256 byte symbols, without dropout, affixes and byte_fallback
  //   normalizer      none, NFC, NFD, NFKC, NFKD, a Sequence of them
  //   pre_tokenizer   ByteLevel, or a Sequence of Split and Digits that ends with it; regular
  //                   expressions within text/regex_dialect.h
  //   post_processor  none, ByteLevel, TemplateProcessing, a Sequence of them
  //   decoder         ByteLevel, or a Sequence of it and Fuse
  static Tokenizer parse(std::string_view tokenizer_json, const std::string& origin);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // The ids of `text`: with kMatch those of the `tokenizers` library, whose add_special_tokens is
  // kFromFile; with kIgnore those of the library for the same file without added_tokens, and never
  // a token that the file flags as special, unless it is a single byte. Bytes that are not UTF-8
  // become U+FFFD first, one for each maximal subpart of a broken character (Unicode 15, section
  // 3.9). Time is n log n in the length of the text at worst. Throws Error{kUnsupportedModel} when
  // the file's regular expression exceeds the match limits.
  std::vector<TokenId> encode(std::string_view text, AddedTokens mode,
                              Frame frame = Frame::kNone) const;

  // The ids of a text of which only a part is vouched for: a rendered chat prompt. Words,
  // normalization and merges run across the borders, so that the model sees the ids that it was
  // trained on. Only added tokens know borders: one is matched where its whole spelling is outside
  // of `untrusted`, so nobody's text spells or completes it. White space that it swallows, and the
  // words that a single_word token must not touch, may lie anywhere. If it is looked for in
  // normalized text, characters that normalization joins across a border count as untrusted. Each
  // stretch inside or outside of a range is made UTF-8 by itself.
  //   untrusted  ascending, without overlap, within `text`
  std::vector<TokenId> encode(std::string_view text, std::span<const ByteRange> untrusted,
                              Frame frame = Frame::kNone) const;

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
