// Any bytes as tokenizer.json, and as text for a small fixed tokenizer: an Error, or ids that
// decode to the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/byte_symbols.h"
#include "text/normalize.h"
#include "text/splitter.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace slip {
namespace {

// All bytes, a few merges, added tokens with and without flags, and a regular expression like the
// real ones.
std::string small_tokenizer_json() {
  nlohmann::json vocab;
  for (int byte = 0; byte < 256; ++byte)
    vocab[byte_symbol(static_cast<unsigned char>(byte))] = byte;
  vocab["aa"] = 256;
  vocab["aaaa"] = 257;
  vocab["\u00C3\u00A9"] = 258;
  const nlohmann::json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
  const nlohmann::json split = {
      {"type", "Split"},
      {"behavior", "Isolated"},
      {"pattern", {{"Regex", R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)"}}}};
  const nlohmann::json file = {
      {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a a", "aa aa", "\u00C3 \u00A9"}}}},
      {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, byte_level}}}},
      {"decoder", {{"type", "ByteLevel"}}},
      {"added_tokens",
       {{{"id", 259}, {"content", "<x>"}, {"special", true}},
        {{"id", 260}, {"content", "<y>"}, {"normalized", true}},
        {{"id", 261}, {"content", "<z>"}, {"single_word", true}}}}};
  return file.dump();
}

void parse_as_file(std::string_view bytes) {
  try {
    const Tokenizer tokenizer = Tokenizer::parse(bytes, "fuzz");
    tokenizer.encode("some text <x> \u00E9 1234\n\n", AddedTokens::kMatch, Frame::kFromFile);
  } catch (const Error&) {
    // The promise: this and nothing else.
  }
}

void parse_as_pattern(std::string_view bytes) {
  try {
    const Splitter splitter({.pattern = repair_utf8(bytes)}, "fuzz");
    Splitter::Scratch scratch;
    Splitter::Pieces pieces = splitter.cut("some text <x> \u00E9 1234\n\n", scratch);
    while (pieces.next()) {
    }
  } catch (const Error&) {
    // The promise: this and nothing else.
  }
}

void encode_as_text(std::string_view bytes) {
  static const Tokenizer tokenizer = Tokenizer::parse(small_tokenizer_json(), "small");
  const std::string wanted = repair_utf8(bytes);
  for (const AddedTokens mode : {AddedTokens::kMatch, AddedTokens::kIgnore}) {
    if (tokenizer.decode(tokenizer.encode(bytes, mode), false) != wanted) std::abort();
  }
  for (const NormalForm form :
       {NormalForm::kNfc, NormalForm::kNfd, NormalForm::kNfkc, NormalForm::kNfkd}) {
    const std::string normal = normalize(wanted, form);
    if (normalize(normal, form) != normal) std::abort();
  }
}

}  // namespace
}  // namespace slip

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  slip::parse_as_file(bytes);
  slip::parse_as_pattern(bytes);
  slip::encode_as_text(bytes);
  return 0;
}
