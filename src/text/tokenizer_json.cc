// Reads tokenizer.json top down. Keys and values that are not in a table here are refused by name,
// so that a file never means more than is done.
#include "text/tokenizer_json.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "text/byte_symbols.h"
#include "text/tokenizer.h"
#include "text/tokenizer_steps_json.h"

namespace slip {
namespace {

using nlohmann::json;

TokenId token_id(const Section& section, const std::string& key, const json& value) {
  if (!value.is_number_integer() || value < 0 || value >= kTokenizerVocabMax) {
    section.corrupt("id of " + shown(key) + " is " + shown(value) + ", wanted 0 to " +
                    std::to_string(kTokenizerVocabMax - 1));
  }
  return TokenId{value.get<int32_t>()};
}

// The decoder's rule for every token: symbols of bytes, or else the characters themselves.
std::string bytes_of(const std::string& spelling) {
  return bytes_of_symbols(spelling).value_or(spelling);
}

void add_token(const Section& section, TokenizerSpec& spec, const std::string& spelling,
               TokenId id) {
  if (spelling.empty()) section.corrupt("a token without characters");
  if (index(id) >= spec.bytes.size()) {
    spec.bytes.resize(index(id) + 1);
    spec.is_special.resize(index(id) + 1);
  }
  if (!spec.bytes[index(id)].empty()) {
    section.corrupt("two tokens with id " + std::to_string(index(id)) + ", one is " +
                    shown(spelling));
  }
  spec.bytes[index(id)] = bytes_of(spelling);
  spec.ids.emplace(spelling, id);
}

void read_vocab(const Section& model, TokenizerSpec& spec) {
  const Section vocab = model.child("vocab");
  spec.ids.reserve(vocab.value.size());
  for (const auto& [spelling, id] : vocab.value.items()) {
    add_token(vocab, spec, spelling, token_id(vocab, spelling, id));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const std::string symbol = byte_symbol(static_cast<unsigned char>(byte));
    const auto found = spec.ids.find(symbol);
    if (found == spec.ids.end()) {
      throw Error(ErrorCode::kUnsupportedModel, vocab.place + ": no token " + shown(symbol) +
                                                    " for byte " + std::to_string(byte) +
                                                    ", wanted all 256");
    }
    spec.byte_ids[static_cast<size_t>(byte)] = found->second;
  }
}

AddedToken added_token(const Section& section) {
  section.allow(
      {{"id"}, {"content"}, {"single_word"}, {"lstrip"}, {"rstrip"}, {"normalized"}, {"special"}});
  AddedToken token{.id = token_id(section, "this token", section.at("id")),
                   .content = section.string_at("content"),
                   .is_lstrip = section.flag_or("lstrip", false),
                   .is_rstrip = section.flag_or("rstrip", false),
                   .is_single_word = section.flag_or("single_word", false),
                   .is_normalized = section.flag_or("normalized", false),
                   .is_special = section.flag_or("special", false)};
  if (token.content.size() > kAddedTokenBytesMax) {
    section.corrupt("content of " + std::to_string(token.content.size()) + " bytes, at most " +
                    std::to_string(kAddedTokenBytesMax) + " are allowed");
  }
  return token;
}

// The tokens of the list, old ones of the vocabulary and new ones behind it. The `tokenizers`
// library numbers new ones itself, whatever the file says: a file that says otherwise has two
// readings, and none is taken.
class AddedTokensReader {
 public:
  explicit AddedTokensReader(TokenizerSpec& spec) : spec_(spec), next_id_(spec.ids.size()) {}

  void read(const Section& section) {
    AddedToken token = added_token(section);
    const auto known = spec_.ids.find(token.content);
    const size_t wanted = known == spec_.ids.end() ? next_id_ : index(known->second);
    if (index(token.id) != wanted) {
      section.corrupt("id of " + shown(token.content) + " is " + std::to_string(index(token.id)) +
                      ", wanted " + std::to_string(wanted));
    }
    if (known == spec_.ids.end()) add_token(section, spec_, token.content, token.id);
    is_added_.resize(spec_.bytes.size());
    if (is_added_[wanted]) section.corrupt("content " + shown(token.content) + " is given twice");
    is_added_[wanted] = true;
    next_id_ = std::max(next_id_, wanted + 1);
    spec_.is_special[wanted] = token.is_special;
    spec_.added.push_back(std::move(token));
  }

 private:
  TokenizerSpec& spec_;
  size_t next_id_;              // of a new token
  std::vector<bool> is_added_;  // [vocab_size]
};

void read_added_tokens(const Section& root, TokenizerSpec& spec) {
  if (!root.has("added_tokens")) return;
  AddedTokensReader reader(spec);
  const size_t n_added = root.array_at("added_tokens").size();
  size_t n_bytes = 0;
  for (size_t i = 0; i < n_added; ++i) {
    reader.read(root.child("added_tokens", i));
    n_bytes += spec.added.back().content.size();
  }
  if (n_bytes > kAddedTokenBytesTotalMax) {
    root.corrupt("added_tokens of " + std::to_string(n_bytes) + " bytes, at most " +
                 std::to_string(kAddedTokenBytesTotalMax) + " are allowed");
  }
}

// Those that are looked for in normalized text are spelled normalized, in both directions.
void normalize_added_tokens(const Section& root, TokenizerSpec& spec) {
  if (!spec.maybe_form) return;
  std::unordered_set<std::string> contents;
  for (AddedToken& token : spec.added) {
    if (!token.is_normalized) continue;
    token.content = normalize(token.content, *spec.maybe_form);
    spec.bytes[index(token.id)] = bytes_of(token.content);
    if (!contents.insert(token.content).second)
      root.corrupt("two added_tokens are " + shown(token.content) + " when normalized");
  }
}

// Both spellings of a merge: ["a", "b"] and "a b".
std::pair<std::string, std::string> merge_halves(const Section& model, const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  if (merge.is_string()) {
    const auto text = merge.get<std::string>();
    const size_t space = text.find(' ');
    if (space != std::string::npos && text.find(' ', space + 1) == std::string::npos) {
      return {text.substr(0, space), text.substr(space + 1)};
    }
  }
  model.corrupt("merge " + shown(merge) + ", wanted two tokens");
}

// Without those that build a special token: text becomes one as an added token or not at all.
void read_merges(const Section& model, TokenizerSpec& spec) {
  const auto id_of = [&](const std::string& spelling) {
    const auto found = spec.ids.find(spelling);
    if (found == spec.ids.end())
      model.corrupt("merges name " + shown(spelling) + ", which vocab lacks");
    return found->second;
  };
  const json& merges = model.array_at("merges");
  spec.merges.reserve(merges.size());
  for (const json& merge : merges) {
    const auto [left, right] = merge_halves(model, merge);
    const TokenId merged = id_of(left + right);
    if (!spec.is_special[index(merged)]) spec.merges.push_back({id_of(left), id_of(right), merged});
  }
}

// The tokens of the vocabulary that text may become without any merge.
void read_words(const Section& model, TokenizerSpec& spec) {
  for (const auto& [spelling, id] : model.child("vocab").value.items()) {
    const auto word = TokenId{id.get<int32_t>()};
    auto bytes = bytes_of_symbols(spelling);
    if (bytes && !spec.is_special[index(word)]) spec.words.emplace(*std::move(bytes), word);
  }
}

void check_model(const Section& model) {
  if (model.string_at("type") != "BPE") model.refuse("type", model.at("type"));
  // With a token for every byte no character is unknown, so unk_token and fuse_unk say nothing.
  model.allow({{"type"},
               {"dropout", {nullptr, 0}},
               {"unk_token"},
               {"continuing_subword_prefix", {nullptr, ""}},
               {"end_of_word_suffix", {nullptr, ""}},
               {"fuse_unk"},
               {"byte_fallback", {false}},
               {"ignore_merges"},
               {"vocab"},
               {"merges"}});
}

void check_root(const Section& root) {
  if (!root.value.is_object()) root.corrupt(shown(root.value) + ", wanted an object");
  root.allow({{"version", {"1.0"}},
              {"truncation", {nullptr}},
              {"padding", {nullptr}},
              {"added_tokens"},
              {"normalizer"},
              {"pre_tokenizer"},
              {"post_processor"},
              {"decoder"},
              {"model"}});
}

}  // namespace

TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& origin) {
  const json file = parse_json(text, origin);
  const Section root{file, origin, ": "};
  check_root(root);
  const Section model = root.child("model");
  check_model(model);
  TokenizerSpec spec{.is_word_first = model.flag_or("ignore_merges", false)};
  read_vocab(model, spec);
  read_added_tokens(root, spec);
  read_merges(model, spec);
  if (spec.is_word_first) read_words(model, spec);
  if (root.has("normalizer")) {
    read_normalizer(root.child("normalizer"), spec);
    normalize_added_tokens(root, spec);
  }
  read_pre_tokenizer(root.child("pre_tokenizer"), spec);
  if (root.has("post_processor")) read_post_processor(root.child("post_processor"), spec);
  read_decoder(root.child("decoder"));
  return spec;
}

}  // namespace slip
