// Reads tokenizer.json top down. Keys and values that are not in a table here are refused by name,
// so that a file never means more than is done.
#include "text/tokenizer_json.h"

#include <algorithm>
#include <initializer_list>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/byte_symbols.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace slip {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 32;           // tokenizer.json needs 6
constexpr size_t kShownBytesMax = 200;  // of a value in a message

// A key with the values that mean what is implemented; nothing listed: checked elsewhere, any value
// here.
struct Setting {
  std::string_view key;
  std::vector<json> allowed = {};
  bool is_required = false;  // the file format's own default is not among the allowed values
};

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kShownBytesMax) text.resize(kShownBytesMax);
  return repair_utf8(text);
}

// One object of the file and its place, for messages.
struct Section {
  const json& value;
  std::string place;  // "tokenizer.json: model"

  [[noreturn]] void corrupt(const std::string& what) const {
    throw Error(ErrorCode::kCorruptFile, place + ": " + what);
  }
  [[noreturn]] void refuse(std::string_view key, const json& found) const {
    throw Error(ErrorCode::kUnsupportedModel,
                place + ": " + std::string(key) + " = " + shown(found) + " is not supported");
  }
  const json& at(std::string_view key) const {
    const auto found = value.find(key);
    if (found == value.end()) corrupt("no key " + std::string(key));
    return *found;
  }
  const json& object_at(std::string_view key) const {
    const json& found = at(key);
    if (!found.is_object()) corrupt(std::string(key) + " = " + shown(found) + ", wanted an object");
    return found;
  }
  const json& array_at(std::string_view key) const {
    const json& found = at(key);
    if (!found.is_array()) corrupt(std::string(key) + " = " + shown(found) + ", wanted an array");
    return found;
  }
  std::string string_at(std::string_view key) const {
    const json& found = at(key);
    if (!found.is_string()) corrupt(std::string(key) + " = " + shown(found) + ", wanted a string");
    return found.get<std::string>();
  }
  bool flag_at(std::string_view key) const {
    const auto found = value.find(key);
    if (found == value.end()) return false;
    if (!found->is_boolean())
      corrupt(std::string(key) + " = " + shown(*found) + ", wanted true or false");
    return found->get<bool>();
  }
  // Null counts as absent: the format writes both.
  bool has(std::string_view key) const {
    const auto found = value.find(key);
    return found != value.end() && !found->is_null();
  }
};

void check_settings(const Section& section, const std::vector<Setting>& settings) {
  if (!section.value.is_object()) section.corrupt(shown(section.value) + ", wanted an object");
  for (const auto& [key, found] : section.value.items()) {
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&, &name = key](const Setting& s) { return s.key == name; });
    if (setting == settings.end()) section.refuse(key, found);
    const auto& allowed = setting->allowed;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), found) == allowed.end()) {
      section.refuse(key, found);
    }
  }
  for (const Setting& setting : settings) {
    if (setting.is_required && !section.value.contains(setting.key)) {
      section.corrupt("no key " + std::string(setting.key));
    }
  }
}

TokenId token_id(const Section& section, const std::string& key, const json& value) {
  if (!value.is_number_integer() || value < 0 || value >= kTokenizerVocabMax) {
    section.corrupt("id of " + shown(key) + " is " + shown(value) + ", wanted 0 to " +
                    std::to_string(kTokenizerVocabMax - 1));
  }
  return TokenId{value.get<int32_t>()};
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
  spec.bytes[index(id)] = spelling;
  spec.ids.emplace(spelling, id);
}

void read_vocab(const Section& model, TokenizerSpec& spec) {
  const Section vocab{model.object_at("vocab"), model.place + ".vocab"};
  spec.ids.reserve(vocab.value.size());
  for (const auto& [spelling, id] : vocab.value.items()) {
    add_token(vocab, spec, spelling, token_id(vocab, spelling, id));
  }
  for (size_t id = 0; id < spec.bytes.size(); ++id) {
    auto bytes = bytes_of_symbols(spec.bytes[id]);
    if (!bytes || bytes->empty()) continue;
    if (spec.is_word_first) spec.words.emplace(*bytes, TokenId{static_cast<int32_t>(id)});
    spec.bytes[id] = *std::move(bytes);
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
    spec.merges.push_back({id_of(left), id_of(right), id_of(left + right)});
  }
}

void read_model(const Section& model, TokenizerSpec& spec) {
  check_settings(model, {{"type", {"BPE"}, true},
                         {"dropout", {nullptr, 0}},
                         {"unk_token", {nullptr}},
                         {"continuing_subword_prefix", {nullptr, ""}},
                         {"end_of_word_suffix", {nullptr, ""}},
                         {"fuse_unk", {false}},
                         {"byte_fallback", {false}},
                         {"ignore_merges"},
                         {"vocab"},
                         {"merges"}});
  spec.is_word_first = model.flag_at("ignore_merges");
  read_vocab(model, spec);
  read_merges(model, spec);
}

void read_added_token(const Section& section, TokenizerSpec& spec) {
  check_settings(section, {{"id"},
                           {"content"},
                           {"single_word", {false}},
                           {"lstrip"},
                           {"rstrip"},
                           {"normalized"},
                           {"special"}});
  AddedToken token{.id = token_id(section, "this token", section.at("id")),
                   .content = section.string_at("content"),
                   .is_lstrip = section.flag_at("lstrip"),
                   .is_rstrip = section.flag_at("rstrip"),
                   .is_normalized = section.flag_at("normalized"),
                   .is_special = section.flag_at("special")};
  if (token.content.size() > kAddedTokenBytesMax) {
    section.corrupt("content of " + std::to_string(token.content.size()) + " bytes, at most " +
                    std::to_string(kAddedTokenBytesMax) + " are allowed");
  }
  const auto known = spec.ids.find(token.content);
  if (known == spec.ids.end()) {
    add_token(section, spec, token.content, token.id);
  } else if (known->second != token.id) {
    section.corrupt("content " + shown(token.content) + " has id " +
                    std::to_string(index(token.id)) + " here and " +
                    std::to_string(index(known->second)) + " elsewhere");
  }
  spec.bytes[index(token.id)] = token.content;
  spec.is_special[index(token.id)] = token.is_special;
  spec.added.push_back(std::move(token));
}

void read_added_tokens(const Section& root, const std::string& origin, TokenizerSpec& spec) {
  if (!root.has("added_tokens")) return;
  size_t n_bytes = 0;
  for (const json& token : root.array_at("added_tokens")) {
    const std::string place = origin + ": added_tokens[" + std::to_string(spec.added.size()) + "]";
    read_added_token({token, place}, spec);
    n_bytes += spec.added.back().content.size();
  }
  if (n_bytes > kAddedTokenBytesTotalMax) {
    root.corrupt("added_tokens of " + std::to_string(n_bytes) + " bytes, at most " +
                 std::to_string(kAddedTokenBytesTotalMax) + " are allowed");
  }
}

void read_split(const Section& split, TokenizerSpec& spec) {
  check_settings(split,
                 {{"type"}, {"pattern"}, {"behavior", {"Isolated"}, true}, {"invert", {false}}});
  const Section pattern{split.object_at("pattern"), split.place + ".pattern"};
  check_settings(pattern, {{"Regex", {}, true}});
  spec.patterns.push_back(pattern.string_at("Regex"));
}

void read_byte_level(const Section& section) {
  check_settings(section, {{"type"},
                           {"add_prefix_space", {false}, true},
                           {"trim_offsets"},  // changes offsets, which nobody asks for
                           {"use_regex", {false}, true}});
}

// Zero or more Splits, then ByteLevel.
void read_pre_tokenizer(const Section& section, TokenizerSpec& spec) {
  const std::string type = section.string_at("type");
  if (type == "ByteLevel") return read_byte_level(section);
  if (type != "Sequence") section.refuse("type", type);
  check_settings(section, {{"type"}, {"pretokenizers"}});
  const json& steps = section.array_at("pretokenizers");
  if (steps.empty()) section.refuse("pretokenizers", steps);
  for (size_t i = 0; i < steps.size(); ++i) {
    const Section step{steps[i], section.place + ".pretokenizers[" + std::to_string(i) + "]"};
    if (!steps[i].is_object()) step.corrupt(shown(steps[i]) + ", wanted an object");
    const std::string step_type = step.string_at("type");
    const bool is_last = i + 1 == steps.size();
    if (step_type != (is_last ? "ByteLevel" : "Split")) step.refuse("type", step_type);
    if (is_last) {
      read_byte_level(step);
    } else {
      read_split(step, spec);
    }
  }
}

// Depth is counted before parsing: the parser's own structures are as deep as the text.
void check_depth(const Section& root, std::string_view text) {
  int depth = 0;
  bool is_in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_in_string && c == '\\') ++i;
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string) continue;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kDepthMax) root.corrupt("nested deeper than " + std::to_string(kDepthMax));
  }
}

}  // namespace

TokenizerSpec parse_tokenizer_json(std::string_view text, const std::string& origin) {
  json file;
  const Section root{file, origin};
  if (text.size() > kTokenizerJsonBytesMax) {
    root.corrupt(std::to_string(text.size()) + " bytes, at most " +
                 std::to_string(kTokenizerJsonBytesMax) + " are read");
  }
  check_depth(root, text);
  file = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (file.is_discarded()) root.corrupt("not JSON");
  check_settings(root, {{"version", {"1.0"}},
                        {"truncation", {nullptr}},
                        {"padding", {nullptr}},
                        {"added_tokens"},
                        {"normalizer"},
                        {"pre_tokenizer"},
                        {"post_processor"},
                        {"decoder"},
                        {"model"}});
  TokenizerSpec spec{};
  read_model({root.object_at("model"), origin + ": model"}, spec);
  read_added_tokens(root, origin, spec);
  read_pre_tokenizer({root.object_at("pre_tokenizer"), origin + ": pre_tokenizer"}, spec);
  if (root.has("normalizer")) {
    check_settings({root.at("normalizer"), origin + ": normalizer"}, {{"type", {"NFC"}, true}});
    spec.is_nfc = true;
  }
  // ByteLevel as post-processor only moves offsets; as decoder it has no settings that count.
  const std::vector<Setting> byte_level = {
      {"type", {"ByteLevel"}, true}, {"add_prefix_space"}, {"trim_offsets"}, {"use_regex"}};
  if (root.has("post_processor")) {
    check_settings({root.at("post_processor"), origin + ": post_processor"}, byte_level);
  }
  check_settings({root.object_at("decoder"), origin + ": decoder"}, byte_level);
  return spec;
}

}  // namespace slip
