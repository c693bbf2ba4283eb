// What the command line asks, one struct a command. Every field is validated where it is parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slip {

struct ModelOptions {
  std::string model;  // folder
  std::string device = "cpu";
  std::string kernels;    // table to force; empty: the best
  int32_t n_threads = 0;  // 0: every usable core
  int32_t context_tokens =
      0;  // 0: kContextTokensDefault, or the model's own limit where that is shorter
};

struct DraftOptions {
  std::string source = "auto";  // none, mtp, copy, auto
  int32_t depth = 0;            // drafts per step at most; 0: the source's own default
};

struct PromptOptions {
  std::string text;  // exactly one of the two is given
  std::string file;
  bool is_chat = false;  // wrap it as a user's message in the model's chat template
};

struct GenerateOptions {
  ModelOptions model;
  DraftOptions draft;
  PromptOptions prompt;
  int32_t max_tokens = 0;  // 0: kMaxTokensDefault, or what the context leaves
  uint64_t seed = 0;
  bool is_json = false;
};

struct CompareOptions {
  GenerateOptions generate;
  std::string reference;  // file with the text that the answer should be; empty: none
  int32_t n_runs = 3;     // of each arm
};

struct LogitsOptions {
  ModelOptions model;
  std::string tokens;  // exactly one of the two is given
  std::string tokens_file;
  int32_t n_rows = 1;  // of a verify segment
  int32_t from = 0;    // first position whose logits are wanted
  bool with_draft_head = false;
  std::string out;
};

inline constexpr int32_t kContextTokensDefault = 32768;
inline constexpr int32_t kMaxTokensDefault = 4096;

}  // namespace slip
