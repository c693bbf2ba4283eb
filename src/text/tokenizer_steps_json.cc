#include "text/tokenizer_steps_json.h"

#include <algorithm>
#include <array>

namespace slip {
namespace {

using nlohmann::json;

template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

// The value of `key` by its name in `table`.
template <class Value, size_t kRows>
Value named_at(const Section& section, std::string_view key,
               const std::array<Named<Value>, kRows>& table) {
  const std::string name = section.string_at(key);
  const auto* row = std::find_if(table.begin(), table.end(),
                                 [&](const Named<Value>& r) { return r.name == name; });
  if (row == table.end()) section.refuse(key, name);
  return row->value;
}

constexpr std::array<Named<NormalForm>, 4> kForms = {{{"NFC", NormalForm::kNfc},
                                                      {"NFD", NormalForm::kNfd},
                                                      {"NFKC", NormalForm::kNfkc},
                                                      {"NFKD", NormalForm::kNfkd}}};

constexpr std::array<Named<SplitBehavior>, 5> kBehaviors = {
    {{"Isolated", SplitBehavior::kIsolated},
     {"Removed", SplitBehavior::kRemoved},
     {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
     {"MergedWithNext", SplitBehavior::kMergedWithNext},
     {"Contiguous", SplitBehavior::kContiguous}}};

// What ByteLevel splits by when the file leaves it to it: GPT-2's pattern.
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// Calls `read` for every step of a Sequence, which keeps them under `key`, and for any other
// section itself.
template <class Read>
void for_each_step(const Section& section, std::string_view key, const Read& read) {
  if (section.string_at("type") != "Sequence") return read(section);
  section.allow({{"type"}, {key}});
  const size_t n_steps = section.array_at(key).size();
  for (size_t i = 0; i < n_steps; ++i) for_each_step(section.child(key, i), key, read);
}

SplitRule split_rule(const Section& section) {
  section.allow({{"type"}, {"pattern"}, {"behavior"}, {"invert"}});
  const Section pattern = section.child("pattern");
  pattern.allow({{"Regex"}, {"String"}});
  const bool is_literal = pattern.has("String");
  if (is_literal && pattern.has("Regex")) pattern.corrupt("both Regex and String");
  return {.pattern = pattern.string_at(is_literal ? "String" : "Regex"),
          .is_literal = is_literal,
          .behavior = named_at(section, "behavior", kBehaviors),
          .is_inverted = section.flag_or("invert", false)};
}

SplitRule digits_rule(const Section& section) {
  section.allow({{"type"}, {"individual_digits"}});
  return {.pattern = R"(\p{N})",
          .behavior = section.flag_at("individual_digits") ? SplitBehavior::kIsolated
                                                           : SplitBehavior::kContiguous};
}

void read_byte_level(const Section& section, TokenizerSpec& spec) {
  // trim_offsets changes offsets, which nobody asks for.
  section.allow({{"type"}, {"add_prefix_space"}, {"trim_offsets"}, {"use_regex"}});
  if (section.flag_at("add_prefix_space")) spec.maybe_prefix_step = spec.splits.size();
  if (section.flag_or("use_regex", true)) spec.splits.push_back({.pattern = kByteLevelPattern});
}

// ByteLevel as post-processor only moves offsets; as decoder it has no settings that count.
void allow_idle_byte_level(const Section& section) {
  section.allow({{"type"}, {"add_prefix_space"}, {"trim_offsets"}, {"use_regex"}});
}

// The ids of one entry of special_tokens. The file spells the tokens beside them.
std::vector<TokenId> special_ids(const Section& section, const TokenizerSpec& spec) {
  section.allow({{"id"}, {"ids"}, {"tokens"}});
  const json& ids = section.array_at("ids");
  const json& tokens = section.array_at("tokens");
  if (ids.size() != tokens.size()) {
    section.corrupt(std::to_string(ids.size()) + " ids for " + std::to_string(tokens.size()) +
                    " tokens");
  }
  std::vector<TokenId> found;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto token =
        tokens[i].is_string() ? spec.ids.find(tokens[i].get<std::string>()) : spec.ids.end();
    if (token == spec.ids.end()) section.corrupt("no token " + shown(tokens[i]));
    if (ids[i] != static_cast<int32_t>(token->second)) {
      section.corrupt("token " + shown(tokens[i]) + " has id " + shown(ids[i]) + " here and " +
                      std::to_string(index(token->second)) + " elsewhere");
    }
    found.push_back(token->second);
  }
  return found;
}

// What stands around the one sequence; `pair` is for tasks with two.
void read_template(const Section& section, TokenizerSpec& spec) {
  section.allow({{"type"}, {"single"}, {"pair"}, {"special_tokens"}});
  const Section specials = section.child("special_tokens");
  bool has_text = false;
  const size_t n_pieces = section.array_at("single").size();
  for (size_t i = 0; i < n_pieces; ++i) {
    const Section piece = section.child("single", i);
    if (piece.has("Sequence") && !has_text) {
      piece.child("Sequence").allow({{"id", {"A"}}, {"type_id"}});
      has_text = true;
    } else if (piece.has("SpecialToken")) {
      const std::string name = piece.child("SpecialToken").string_at("id");
      const std::vector<TokenId> ids = special_ids(specials.child(name), spec);
      auto& side = has_text ? spec.back : spec.front;
      side.insert(side.end(), ids.begin(), ids.end());
    } else {
      piece.refuse("piece", piece.value);
    }
  }
  if (!has_text) section.corrupt("single has no Sequence");
}

}  // namespace

void read_normalizer(const Section& section, TokenizerSpec& spec) {
  for_each_step(section, "normalizers", [&](const Section& step) {
    step.allow({{"type"}});
    const NormalForm form = named_at(step, "type", kForms);
    spec.maybe_form = spec.maybe_form ? combined(*spec.maybe_form, form) : form;
  });
}

void read_pre_tokenizer(const Section& section, TokenizerSpec& spec) {
  bool is_byte_level = false;
  for_each_step(section, "pretokenizers", [&](const Section& step) {
    const std::string type = step.string_at("type");
    if (is_byte_level) step.refuse("type after ByteLevel", type);
    if (type == "Split") {
      spec.splits.push_back(split_rule(step));
    } else if (type == "Digits") {
      spec.splits.push_back(digits_rule(step));
    } else if (type == "ByteLevel") {
      read_byte_level(step, spec);
      is_byte_level = true;
    } else {
      step.refuse("type", type);
    }
  });
  if (!is_byte_level) section.refuse("type without ByteLevel", section.at("type"));
  if (spec.splits.size() > kSplitsMax) {
    section.corrupt(std::to_string(spec.splits.size()) + " splits, at most " +
                    std::to_string(kSplitsMax) + " are applied");
  }
}

void read_post_processor(const Section& section, TokenizerSpec& spec) {
  bool is_framed = false;
  for_each_step(section, "processors", [&](const Section& step) {
    const std::string type = step.string_at("type");
    if (type == "ByteLevel") return allow_idle_byte_level(step);
    if (type != "TemplateProcessing") step.refuse("type", type);
    if (is_framed) step.refuse("second type", type);
    read_template(step, spec);
    is_framed = true;
  });
}

void read_decoder(const Section& section) {
  bool is_first = true;
  for_each_step(section, "decoders", [&](const Section& step) {
    const std::string type = step.string_at("type");
    // Fuse joins the pieces, which is done anyway.
    if (type != (is_first ? "ByteLevel" : "Fuse")) step.refuse("type", type);
    allow_idle_byte_level(step);
    is_first = false;
  });
  if (is_first) section.refuse("type without ByteLevel", section.at("type"));
}

}  // namespace slip
