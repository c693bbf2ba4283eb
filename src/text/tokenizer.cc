#include "text/tokenizer.h"

#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/splitter.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"

namespace slip {
namespace {

// Words repeat. Their tokens are remembered for the length of one encode().
constexpr size_t kCachedWordsMax = 1 << 16;
constexpr size_t kCachedWordBytesMax = 64;

AddedTokenMatcher make_matcher(const TokenizerSpec& spec, bool is_normalized) {
  std::vector<AddedToken> tokens;
  for (AddedToken token : spec.added) {
    if (token.is_normalized != is_normalized) continue;
    if (is_normalized && spec.is_nfc) token.content = nfc(token.content);
    tokens.push_back(std::move(token));
  }
  return AddedTokenMatcher(std::move(tokens));
}

std::vector<Splitter> make_splitters(const TokenizerSpec& spec, const std::string& origin) {
  std::vector<Splitter> splitters;
  for (const std::string& pattern : spec.patterns) splitters.emplace_back(pattern, origin);
  return splitters;
}

}  // namespace

struct Tokenizer::Parts {
  Parts(TokenizerSpec spec_in, const std::string& origin)
      : spec(std::move(spec_in)),
        bpe(spec.byte_ids, spec.merges),
        splitters(make_splitters(spec, origin)),
        raw_matcher(make_matcher(spec, false)),
        normalized_matcher(make_matcher(spec, true)) {}

  TokenizerSpec spec;
  Bpe bpe;
  std::vector<Splitter> splitters;
  AddedTokenMatcher raw_matcher;         // added tokens that are looked for before normalization,
  AddedTokenMatcher normalized_matcher;  // and after it
};

// One encode(): what is shared by the pieces of its text.
class Tokenizer::Encoder {
 public:
  explicit Encoder(const Parts& parts) : parts_(parts) {}

  // Text in which added tokens of the first kind were found already.
  void encode_raw(std::string_view text, AddedTokens mode) {
    const std::string normalized = parts_.spec.is_nfc ? nfc(text) : std::string(text);
    if (mode == AddedTokens::kIgnore) return encode_plain(normalized);
    for (const Stretch& stretch : parts_.normalized_matcher.split(normalized)) {
      if (stretch.maybe_token) {
        ids_.push_back(*stretch.maybe_token);
      } else {
        encode_plain(stretch.text);
      }
    }
  }

  void encode_token(TokenId id) { ids_.push_back(id); }

  std::vector<TokenId> take() { return std::move(ids_); }

 private:
  struct Cached {
    size_t begin, end;  // in cached_ids_
  };

  void encode_plain(std::string_view text) {
    // Views in the cache die with `text`.
    cache_.clear();
    cached_ids_.clear();
    std::vector<std::string_view> words = {text};
    for (const Splitter& splitter : parts_.splitters) {
      std::vector<std::string_view> pieces;
      for (const std::string_view word : words) splitter.split(word, pieces);
      words = std::move(pieces);
    }
    for (const std::string_view word : words) encode_word(word);
  }

  void encode_word(std::string_view word) {
    if (word.size() > kCachedWordBytesMax) return build_word(word, ids_);
    auto found = cache_.find(word);
    if (found == cache_.end()) {
      if (cache_.size() == kCachedWordsMax) return build_word(word, ids_);
      const size_t begin = cached_ids_.size();
      build_word(word, cached_ids_);
      found = cache_.emplace(word, Cached{begin, cached_ids_.size()}).first;
    }
    const auto [begin, end] = found->second;
    ids_.insert(ids_.end(), cached_ids_.begin() + static_cast<ptrdiff_t>(begin),
                cached_ids_.begin() + static_cast<ptrdiff_t>(end));
  }

  void build_word(std::string_view word, std::vector<TokenId>& out) {
    if (parts_.spec.is_word_first) {
      const auto whole = parts_.spec.words.find(std::string(word));
      if (whole != parts_.spec.words.end()) return out.push_back(whole->second);
    }
    parts_.bpe.encode(word, scratch_, out);
  }

  const Parts& parts_;
  std::vector<TokenId> ids_;
  std::unordered_map<std::string_view, Cached> cache_;
  std::vector<TokenId> cached_ids_;
  Bpe::Scratch scratch_;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, const std::string& origin) {
  return Tokenizer(
      std::make_unique<const Parts>(parse_tokenizer_json(tokenizer_json, origin), origin));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, AddedTokens mode) const {
  const std::string repaired = repair_utf8(text);
  Encoder encoder(*parts_);
  if (mode == AddedTokens::kIgnore) {
    encoder.encode_raw(repaired, mode);
    return encoder.take();
  }
  for (const Stretch& stretch : parts_->raw_matcher.split(repaired)) {
    if (stretch.maybe_token) {
      encoder.encode_token(*stretch.maybe_token);
    } else {
      encoder.encode_raw(stretch.text, mode);
    }
  }
  return encoder.take();
}

std::string_view Tokenizer::bytes(TokenId id) const {
  const auto& bytes = parts_->spec.bytes;
  return index(id) < bytes.size() ? std::string_view(bytes[index(id)]) : std::string_view();
}

bool Tokenizer::is_special(TokenId id) const {
  const auto& is_special = parts_->spec.is_special;
  return index(id) < is_special.size() && is_special[index(id)];
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(parts_->spec.bytes.size()); }

std::optional<TokenId> Tokenizer::find(std::string_view token) const {
  const auto found = parts_->spec.ids.find(std::string(token));
  if (found == parts_->spec.ids.end()) return std::nullopt;
  return found->second;
}

std::string Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  std::string bytes;
  for (const TokenId id : ids) {
    if (!(skip_special && is_special(id))) bytes += this->bytes(id);
  }
  return repair_utf8(bytes);
}

}  // namespace slip
