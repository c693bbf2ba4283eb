#include "text/tokenizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalize.h"
#include "text/splitter.h"
#include "text/tokenizer_json.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace slip {
namespace {

AddedTokenMatcher make_matcher(const TokenizerSpec& spec, bool is_normalized) {
  std::vector<AddedToken> tokens;
  std::copy_if(spec.added.begin(), spec.added.end(), std::back_inserter(tokens),
               [&](const AddedToken& token) { return token.is_normalized == is_normalized; });
  return AddedTokenMatcher(tokens);
}

std::vector<Splitter> make_splitters(const TokenizerSpec& spec, const std::string& origin) {
  std::vector<Splitter> splitters;
  for (const SplitRule& rule : spec.splits)
    splitters.emplace_back(rule, origin + ": pre_tokenizer");
  return splitters;
}

// A text with the ranges in which added tokens may be spelled: ascending, apart from each other.
struct Marked {
  void append(std::string_view more, bool is_matched) {
    if (is_matched && !more.empty()) {
      const bool touches = !ranges.empty() && ranges.back().end == text.size();
      if (!touches) ranges.push_back({text.size(), text.size()});
      ranges.back().end += more.size();
    }
    text += more;
  }

  std::string text;
  std::vector<ByteRange> ranges;
};

// The part of `range` whose ends normalization leaves apart from what is around them.
ByteRange normalized_apart(std::string_view text, ByteRange range, NormalForm form) {
  const auto is_apart = [&](size_t at) {
    return at == text.size() || is_normalized_apart(text.substr(at), form);
  };
  while (range.begin < range.end && !is_apart(range.begin)) {
    range.begin += static_cast<size_t>(first_code_point(text.substr(range.begin)).n_bytes);
  }
  while (range.end > range.begin && !is_apart(range.end)) {
    range.end -= static_cast<size_t>(last_code_point_bytes(text.substr(0, range.end)));
  }
  return range;
}

// `text` with its ranges in `form`.
Marked normalize_marked(std::string_view text, std::span<const ByteRange> ranges, NormalForm form) {
  Marked normalized;
  size_t done = 0;
  for (const ByteRange& range : ranges) {
    const auto [begin, end] = normalized_apart(text, range, form);
    if (begin == end) continue;
    normalized.append(normalize(text.substr(done, begin - done), form), false);
    normalized.append(normalize(text.substr(begin, end - begin), form), true);
    done = end;
  }
  normalized.append(normalize(text.substr(done), form), false);
  return normalized;
}

// What of `ranges` lies in `part`, counted from its begin.
std::vector<ByteRange> ranges_within(std::span<const ByteRange> ranges, ByteRange part) {
  std::vector<ByteRange> within;
  auto range = std::lower_bound(ranges.begin(), ranges.end(), part.begin,
                                [](const ByteRange& r, size_t at) { return r.end <= at; });
  for (; range != ranges.end() && range->begin < part.end; ++range) {
    within.push_back({std::max(range->begin, part.begin) - part.begin,
                      std::min(range->end, part.end) - part.begin});
  }
  return within;
}

std::string_view part_of(std::string_view text, ByteRange range) {
  return text.substr(range.begin, range.end - range.begin);
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
  Encoder(const Parts& parts, size_t text_bytes) : parts_(parts), cache_(text_bytes) {}

  std::vector<TokenId> encode(const Marked& whole, Frame frame) {
    if (frame == Frame::kFromFile) append(parts_.spec.front);
    for (const Stretch& stretch : parts_.raw_matcher.split(whole.text, whole.ranges)) {
      if (stretch.maybe_token) {
        ids_.push_back(*stretch.maybe_token);
      } else {
        encode_raw(part_of(whole.text, stretch.text), ranges_within(whole.ranges, stretch.text));
      }
    }
    if (frame == Frame::kFromFile) append(parts_.spec.back);
    return std::move(ids_);
  }

 private:
  // Text in which the added tokens of the first kind were found already.
  void encode_raw(std::string_view text, const std::vector<ByteRange>& ranges) {
    const auto& form = parts_.spec.maybe_form;
    if (parts_.normalized_matcher.is_empty()) {
      return form ? cut_words(normalize(text, *form), 0) : cut_words(text, 0);
    }
    const Marked normalized =
        form ? normalize_marked(text, ranges, *form) : Marked{std::string(text), ranges};
    for (const Stretch& stretch :
         parts_.normalized_matcher.split(normalized.text, normalized.ranges)) {
      if (stretch.maybe_token) {
        ids_.push_back(*stretch.maybe_token);
      } else {
        cut_words(part_of(normalized.text, stretch.text), 0);
      }
    }
  }

  // Applies the splits from number `step` on.
  void cut_words(std::string_view text, size_t step) {
    std::string prefixed;
    if (step == parts_.spec.maybe_prefix_step && !text.starts_with(' ')) {
      prefixed = ' ' + std::string(text);
      text = prefixed;
    }
    if (step == parts_.splitters.size()) return encode_word(text);
    Splitter::Pieces pieces = parts_.splitters[step].cut(text, scratch_);
    while (const auto piece = pieces.next()) cut_words(*piece, step + 1);
  }

  void encode_word(std::string_view word) {
    const std::span<const TokenId> known = cache_.find(word);
    if (!known.empty()) return append(known);
    const size_t begin = ids_.size();
    build_word(word);
    cache_.put(word, std::span(ids_).subspan(begin));
  }

  void build_word(std::string_view word) {
    if (parts_.spec.is_word_first) {
      const auto whole = parts_.spec.words.find(word);
      if (whole != parts_.spec.words.end()) return ids_.push_back(whole->second);
    }
    parts_.bpe.encode(word, bpe_scratch_, ids_);
  }

  void append(std::span<const TokenId> ids) { ids_.insert(ids_.end(), ids.begin(), ids.end()); }

  const Parts& parts_;
  std::vector<TokenId> ids_;
  WordCache cache_;
  Splitter::Scratch scratch_;
  Bpe::Scratch bpe_scratch_;
};

Tokenizer::Tokenizer(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, const std::string& origin) {
  return Tokenizer(
      std::make_unique<const Parts>(parse_tokenizer_json(tokenizer_json, origin), origin));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, AddedTokens mode, Frame frame) const {
  const ByteRange whole{0, text.size()};
  return encode(text, {&whole, mode == AddedTokens::kIgnore ? 1u : 0u}, frame);
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, std::span<const ByteRange> untrusted,
                                       Frame frame) const {
  Marked whole;
  size_t done = 0;
  for (const ByteRange& range : untrusted) {
    SLIP_CHECK(done <= range.begin && range.begin <= range.end && range.end <= text.size());
    whole.append(repair_utf8(part_of(text, {done, range.begin})), true);
    whole.append(repair_utf8(part_of(text, range)), false);
    done = range.end;
  }
  whole.append(repair_utf8(text.substr(done)), true);
  return Encoder(*parts_, whole.text.size()).encode(whole, frame);
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
  const auto found = parts_->spec.ids.find(token);
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
