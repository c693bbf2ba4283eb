// What the command line asks, one struct a command. Every field is validated where it is parsed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/sampling_options.h"
#include "backend/batch.h"
#include "backend/lane.h"

namespace slip {

struct ModelOptions {
  std::string model;  // folder; the command line also takes a name of the Hugging Face cache
  std::string device = "cpu";
  std::string kernels;           // table to force; empty: the best
  std::string kv_type = "bf16";  // of cached keys and values: f32, f16, bf16
  std::vector<LaneOption> lanes;
  std::string injected_lane;  // empty: none
  int32_t n_threads = 0;      // 0: every usable core
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
  SamplingOptions sampling;
  bool is_json = false;
};

struct ChatOptions {
  ModelOptions model;
  DraftOptions draft;
  SamplingOptions sampling;
  int32_t max_tokens = 0;  // of each answer; 0: kMaxTokensDefault, or what the context leaves
  std::string system;      // empty: no system message
  std::string load;        // file with a conversation to go on with; empty: none
  std::string save;        // file that gets the conversation after every answer; empty: none
};

struct CompareOptions {
  GenerateOptions generate;
  std::string reference;  // file with the text that the answer should be; empty: none
  int32_t n_runs = 3;     // of each arm
};

// Of every bench of a single operation.
struct BenchKernelOptions {
  std::string device = "cpu";
  std::string kernels;
  int32_t n_threads = 0;
  std::vector<int32_t> rows = {1, 4, 8, 9, 13, 16, 24, 32};
  double seconds = 10;  // of measuring
  bool is_json = false;
  std::string commit;
};

struct AttentionShape {
  int32_t n_heads = 24, n_kv_heads = 4, head_dim = 256;
};

struct BenchAttentionOptions {
  BenchKernelOptions bench;
  std::string kernel = "on";  // as LaneOption::use
  AttentionShape shape;
  int32_t context_tokens = 20480;
  int32_t capacity_tokens = 0;  // 0: what the context needs
  std::string kv_type = "bf16";
  int32_t n_layers = 0;  // to go round; 0: a gibibyte of them
};

struct MatrixShape {
  int32_t n_out = 17408, n_in = 5120;
};

struct BenchProductOptions {
  BenchKernelOptions bench;
  std::string kernel = "on";  // as LaneOption::use
  MatrixShape matrix;
  std::string format = "q8";  // q8, q4, bf16, fp8
};

struct DeltaNetShape {
  int32_t n_key_heads = 16, n_value_heads = 48, key_dim = 128, value_dim = 128;
};

struct BenchDeltaNetOptions {
  BenchKernelOptions bench;
  DeltaNetShape shape;
  int32_t n_folded = 0;  // accepted rows that wait for the run
};

struct BenchStepOptions {
  BenchKernelOptions bench;
  std::string model_shape = "qwen3.5-0.8b";  // of model/model_shapes.h
  std::string format = "q4";                 // q8, q4, bf16, fp8
  std::string kv_type = "bf16";
  int32_t context_tokens = 4096;
};

struct BenchDecodeOptions {
  ModelOptions model;
  std::vector<std::string> prompts;  // files and folders, at least one
  std::vector<DraftOptions> drafts = {{.source = "none"},
                                      {.source = "mtp", .depth = 1},
                                      {.source = "mtp", .depth = 2},
                                      {.source = "mtp", .depth = 3},
                                      {.source = "copy"},
                                      {.source = "auto"}};
  double replay_errors = 0.1;  // [0, 1]: chance of each token of a "replay" draft to be wrong
  std::vector<double> temperatures = {0, 0.6, 1};
  uint64_t seed = 0;
  int32_t n_runs = 3;        // of each source
  int32_t max_tokens = 300;  // of an answer; 0: kMaxTokensDefault, or what the context leaves
  std::string commit = "unknown";
};

struct BenchMemoryOptions {
  ModelOptions model;
  std::vector<int32_t> rows = {1, 8, 32};  // of a verify step
  bool is_json = false;
  std::string commit = "unknown";
};

struct WindowOptions {
  int32_t window_tokens = 0;  // 0: kWindowTokensDefault, or the model's limit where it is shorter
  int32_t stride_tokens = 0;  // 0: half a window
};

struct BenchCompareOptions {
  ModelOptions model;
  std::string file;
  // The other setting: at least one is given, the others are as on this side.
  std::string against_kernels;
  std::string against_kv_type;
  int32_t against_threads = 0;
  int32_t n_against_rows = 0;
  int32_t n_rows = kSegmentRowsMax;  // of a verify segment
  WindowOptions windows;
  bool is_json = false;
  std::string commit = "unknown";
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

struct InspectOptions {
  ModelOptions model;
  bool is_json = false;
};

struct TuneOptions {
  ModelOptions model;
  bool is_json = false;
};

// The last one whose pattern matches a module decides.
struct BitsOverride {
  std::string pattern;  // of the module's name in the new file: * and ? as in a shell
  int32_t bits = 0;     // 0: the module keeps its type
};

struct ConvertOptions {
  ModelOptions model;  // the source; also how it is measured
  std::string out;
  int32_t bits = 4;  // 4 or 8
  int32_t group_size = 64;
  std::vector<BitsOverride> overrides;
  bool is_forced = false;
  std::optional<double> max_kl;         // nats, mean; nothing: the default for `bits`
  std::optional<double> min_agreement;  // share of tokens
  std::string eval_file;                // empty: the built-in text
};

struct EvalOptions {
  ModelOptions model;
  std::string file;
  std::string against;                       // a second model; empty: none
  std::vector<std::string> against_kernels;  // tables by name
  std::vector<std::string> against_kv_types;
  std::vector<int32_t> against_threads;
  WindowOptions windows;
  bool is_json = false;
};

inline constexpr int32_t kContextTokensDefault = 32768;
inline constexpr int32_t kMaxTokensDefault = 4096;
inline constexpr int32_t kWindowTokensDefault = 2048;

}  // namespace slip
