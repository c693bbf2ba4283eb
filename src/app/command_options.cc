#include "app/command_options.h"

#include <string>
#include <vector>

#include "app/bench_attention.h"
#include "app/bench_decode.h"
#include "app/bench_delta_net.h"
#include "app/bench_format.h"
#include "app/bench_product.h"
#include "app/convert_plan.h"
#include "app/option_checks.h"
#include "backend/batch.h"
#include "base/json.h"

namespace slip {

namespace {

constexpr int32_t kTokensMax = 1 << 30;
constexpr int32_t kBenchTokensMax = 1 << 20;

std::string require_kernels(const std::string& text) {
  return text.empty() ? "found an empty name, wanted one of kernels" : "";
}

std::string require_path(const std::string& text) {
  return text.empty() ? "found an empty path, wanted a file or folder" : "";
}

constexpr const char* kModelHelp =
    "Model folder (Hugging Face or MLX layout), or ORG/NAME[@REVISION] of the Hugging Face cache";

void add_kv_type_option(CLI::App& command, std::string& name) {
  command
      .add_option("--kv-type", name,
                  "Type of cached keys and values: bf16, f16, or f32, twice as large")
      ->check(kv_type())
      ->capture_default_str();
}

void add_device_options(CLI::App& command, std::string& device, int32_t& n_threads,
                        std::string& kernels) {
  command
      .add_option("--device", device,
                  "Where to run: cpu, cuda, or cuda:N, the GPU with that number")
      ->capture_default_str();
  command.add_option("--threads", n_threads, "CPU threads; 0: every usable core")
      ->check(whole_number(0, 256))
      ->capture_default_str();
  command.add_option(
      "--kernels", kernels,
      "Force a CPU kernel table: amx, avx512, avx2, baseline, or reference (plain loops)");
}

// NAME=USE
LaneOption parse_lane(const std::string& text) {
  const size_t sign = text.find('=');
  if (sign != std::string::npos && sign > 0 && sign + 1 < text.size())
    return {text.substr(0, sign), text.substr(sign + 1)};
  throw CLI::ValidationError("--lane", "found " + quote(text) +
                                           ", wanted NAME=on, NAME=off or NAME=KERNEL, like "
                                           "attention=off");
}

void add_lane_options(CLI::App& command, ModelOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "--lane",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) options.lanes.push_back(parse_lane(text));
          },
          "NAME=on, off or a kernel's name, the last one for a NAME decides: fast paths are "
          "attention "
          "and product; inspect shows what they use")
      ->take_all();
  command
      .add_option_function<std::string>(
          "--inject",
          [&options](const std::string& text) {
            constexpr std::string_view kPrefix = "lane=";
            if (!text.starts_with(kPrefix) || text.size() == kPrefix.size())
              throw CLI::ValidationError("--inject", "found " + quote(text) + ", wanted lane=NAME");
            options.injected_lane = text.substr(kPrefix.size());
          },
          "lane=NAME: makes one element of its output wrong, which its self-check has to find")
      ->type_name("TEXT");
}

void add_device_options(CLI::App& command, ModelOptions& options) {
  add_device_options(command, options.device, options.n_threads, options.kernels);
  add_kv_type_option(command, options.kv_type);
  add_lane_options(command, options);
}

void add_context_option(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--context", options.context_tokens,
                  "Longest sequence in tokens; 0: 32768 or the model's limit")
      ->check(whole_number(0, kTokensMax))
      ->capture_default_str();
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--model", options.model, kModelHelp)->required()->check(require_path);
  add_device_options(command, options);
  add_context_option(command, options);
}

void add_draft_options(CLI::App& command, DraftOptions& options) {
  command.add_option("--draft", options.source, "Draft source: none, mtp, copy, auto")
      ->capture_default_str();
  command
      .add_option("--depth", options.depth,
                  "Most draft tokens in a step; 0: 3 for mtp, 31 otherwise")
      ->check(whole_number(0, kDraftTokensMax))
      ->capture_default_str();
}

void add_max_tokens_option(CLI::App& command, int32_t& max_tokens) {
  command
      .add_option("--max-tokens", max_tokens,
                  "Most tokens of an answer; 0: 4096 or what the context leaves")
      ->check(whole_number(0, kTokensMax))
      ->capture_default_str();
}

void add_rows_option(CLI::App& command, std::vector<int32_t>& rows) {
  command.add_option("--rows", rows, "Rows of a step, comma-separated, measured in turns: 1,8,16")
      ->delimiter(',')
      ->check(whole_number(1, kSegmentRowsMax))
      ->capture_default_str();
}

void add_bench_format_option(CLI::App& command, std::string& name) {
  command
      .add_option("--format", name,
                  "Of the weights: q8 and q4 (affine, groups of 64), bf16, fp8 (blocks of 128)")
      ->check(bench_format())
      ->capture_default_str();
}

void add_bench_context_option(CLI::App& command, int32_t& n_tokens) {
  command.add_option("--context", n_tokens, "Tokens in the cache")
      ->check(whole_number(1, kBenchTokensMax))
      ->capture_default_str();
}

void add_kernel_option(CLI::App& command, std::string& kernel, const std::string& names) {
  command
      .add_option("--kernel", kernel,
                  "Kernel of the table: on, its best one; off, the plain one; or " + names +
                      " where it has that")
      ->check(require_kernels)
      ->capture_default_str();
}

void add_bench_kernel_options(CLI::App& command, BenchKernelOptions& options) {
  add_rows_option(command, options.rows);
  command
      .add_option("--seconds", options.seconds,
                  "Time to measure for, at least three rounds; setting up comes on top")
      ->check(number(0.1, 3600))
      ->capture_default_str();
  command.add_flag("--json", options.is_json, "Print one JSON object a line");
  command.add_option("--commit", options.commit, "Recorded in every line");
  add_device_options(command, options.device, options.n_threads, options.kernels);
}

void add_window_options(CLI::App& command, WindowOptions& options) {
  command
      .add_option("--window", options.window_tokens,
                  "Tokens read from an empty state; 0: 2048 or the model's limit")
      ->check(whole_number(0, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--stride", options.stride_tokens,
                  "Tokens from one window to the next; 0: half a window")
      ->check(whole_number(0, kTokensMax))
      ->capture_default_str();
}

void add_prompt_options(CLI::App& command, GenerateOptions& options) {
  add_model_options(command, options.model);
  CLI::Option* text = command.add_option("--prompt", options.prompt.text, "The prompt");
  CLI::Option* file = command
                          .add_option("--prompt-file", options.prompt.file,
                                      "File with the prompt; -: standard input")
                          ->check(require_path);
  text->excludes(file);
  command.add_flag("--chat", options.prompt.is_chat,
                   "The prompt is a user's message: apply the chat template");
  add_draft_options(command, options.draft);
  add_max_tokens_option(command, options.max_tokens);
  add_sampling_options(command, options.sampling);
  command.callback([&command] {
    if (command.count("--prompt") + command.count("--prompt-file") != 1) {
      throw CLI::RequiredError("--prompt or --prompt-file");
    }
  });
}

}  // namespace

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  add_prompt_options(command, options);
  CLI::Option* json = command.add_flag("--json", options.is_json,
                                       "Print one JSON object instead of streaming text");
  add_logprobs_option(command, options.sampling)->needs(json);
}

void add_chat_options(CLI::App& command, ChatOptions& options) {
  add_model_options(command, options.model);
  add_draft_options(command, options.draft);
  add_max_tokens_option(command, options.max_tokens);
  add_sampling_options(command, options.sampling);
  CLI::Option* system =
      command.add_option("--system", options.system, "What the model is told before all messages");
  CLI::Option* load =
      command.add_option("--load", options.load, "File with a conversation to go on with")
          ->check(require_path);
  system->excludes(load);
  command.add_option("--save", options.save, "File that gets the conversation after every answer")
      ->check(require_path);
}

void add_compare_options(CLI::App& command, CompareOptions& options) {
  add_prompt_options(command, options.generate);
  command
      .add_option("--reference", options.reference, "File with the text that the answer should be")
      ->check(require_path);
  command
      .add_option("--runs", options.n_runs, "Runs of each arm, taken in turns; medians are shown")
      ->check(whole_number(1, 100))
      ->capture_default_str();
}

void add_bench_attention_options(CLI::App& command, BenchAttentionOptions& options) {
  command
      .add_option_function<std::string>(
          "--shape", [&options](const std::string& text) { options.shape = parse_shape(text); },
          "Query heads x KV heads x head dim")
      ->default_str("24x4x256");
  add_bench_context_option(command, options.context_tokens);
  command
      .add_option("--capacity", options.capacity_tokens,
                  "Tokens that the cache has room for; 0: what the context needs")
      ->check(whole_number(0, kBenchTokensMax))
      ->capture_default_str();
  command
      .add_option("--layers", options.n_layers,
                  "Layers to go round; 0: as many as a gibibyte of context holds, at most 64")
      ->check(whole_number(0, 64))
      ->capture_default_str();
  add_kv_type_option(command, options.kv_type);
  add_kernel_option(command, options.kernel, "amx");
  add_bench_kernel_options(command, options.bench);
}

void add_bench_product_options(CLI::App& command, BenchProductOptions& options) {
  command
      .add_option_function<std::string>(
          "--matrix", [&options](const std::string& text) { options.matrix = parse_matrix(text); },
          "Outputs x inputs")
      ->default_str("17408x5120");
  add_bench_format_option(command, options.format);
  add_kernel_option(command, options.kernel, "amx, strips");
  add_bench_kernel_options(command, options.bench);
}

void add_bench_delta_net_options(CLI::App& command, BenchDeltaNetOptions& options) {
  command
      .add_option_function<std::string>(
          "--shape",
          [&options](const std::string& text) { options.shape = parse_delta_net_shape(text); },
          "Key heads x value heads x key dim x value dim")
      ->default_str("16x48x128x128");
  command
      .add_option("--folded", options.n_folded,
                  "Accepted rows of the step before that each run folds into the state first")
      ->check(whole_number(0, kDraftTokensMax))
      ->capture_default_str();
  add_bench_kernel_options(command, options.bench);
}

void add_bench_step_options(CLI::App& command, BenchStepOptions& options) {
  command
      .add_option("--model-shape", options.model_shape,
                  "Whose sizes: qwen3.5-0.8b, qwen3.5-2b, qwen3.5-4b or qwen3.6-35b-a3b")
      ->capture_default_str();
  add_bench_format_option(command, options.format);
  add_bench_context_option(command, options.context_tokens);
  add_kv_type_option(command, options.kv_type);
  add_bench_kernel_options(command, options.bench);
}

void add_bench_memory_options(CLI::App& command, BenchMemoryOptions& options) {
  add_model_options(command, options.model);
  add_rows_option(command, options.rows);
  command.add_flag("--json", options.is_json, "Print one JSON object a line");
  command.add_option("--commit", options.commit, "Recorded in every line")->capture_default_str();
}

void add_bench_compare_options(CLI::App& command, BenchCompareOptions& options) {
  command.add_option("--model", options.model.model, kModelHelp)->required()->check(require_path);
  command.add_option("--file", options.file, "Text to read; -: standard input")
      ->required()
      ->check(require_path);
  command
      .add_option("--against-kernels", options.against_kernels,
                  "Kernel table of the other side: amx, avx512, avx2, baseline, reference")
      ->check(require_kernels);
  command.add_option("--against-kv-type", options.against_kv_type, "Cache type of the other side")
      ->check(kv_type());
  command.add_option("--against-threads", options.against_threads, "Threads of the other side")
      ->check(whole_number(1, 256));
  command.add_option("--rows", options.n_rows, "Rows of a verify segment")
      ->check(whole_number(1, kSegmentRowsMax))
      ->capture_default_str();
  command
      .add_option("--against-rows", options.n_against_rows,
                  "Rows of a verify segment of the other side")
      ->check(whole_number(1, kSegmentRowsMax));
  add_window_options(command, options.windows);
  command.add_flag("--json", options.is_json, "Print one JSON object");
  command.add_option("--commit", options.commit, "Recorded in the object")->capture_default_str();
  add_device_options(command, options.model);
}

void add_bench_decode_options(CLI::App& command, BenchDecodeOptions& options) {
  add_model_options(command, options.model);
  command
      .add_option("--prompts", options.prompts,
                  "Files and folders: a .md file is a chat message, another the begin of a text")
      ->required()
      ->check(require_path);
  command
      .add_option_function<std::vector<std::string>>(
          "--draft",
          [&options](const std::vector<std::string>& texts) {
            options.drafts.clear();
            for (const std::string& text : texts) options.drafts.push_back(parse_draft(text));
          },
          "Draft sources to compare, with a depth as in mtp:2; the first is the measure. Here also "
          "replay: the tokens that the first source gave, some of them made wrong")
      ->default_str("none mtp:1 mtp:2 mtp:3 copy auto");
  command
      .add_option("--replay-errors", options.replay_errors,
                  "Chance of each token of a replay draft to be made wrong")
      ->check(number(0, 1))
      ->capture_default_str();
  command.add_option("--temperature", options.temperatures, "Temperatures, each with every source")
      ->check(number(0, 100))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Of everything that is drawn")
      ->check(seed())
      ->capture_default_str();
  command.add_option("--runs", options.n_runs, "Runs of each source, taken in turns")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  add_max_tokens_option(command, options.max_tokens);
  command.add_option("--commit", options.commit, "Recorded in every line")->capture_default_str();
}

void add_logits_options(CLI::App& command, LogitsOptions& options) {
  add_model_options(command, options.model);
  CLI::Option* tokens =
      command.add_option("--tokens", options.tokens, "Token ids, comma-separated");
  CLI::Option* file =
      command.add_option("--tokens-file", options.tokens_file, "File with token ids")
          ->check(require_path);
  tokens->excludes(file);
  command.add_option("--rows", options.n_rows, "Rows of a verify segment")
      ->check(whole_number(1, kSegmentRowsMax))
      ->capture_default_str();
  command.add_option("--from", options.from, "First position whose logits are written")
      ->check(whole_number(0, kTokensMax))
      ->capture_default_str();
  command.add_flag("--mtp", options.with_draft_head,
                   "Also write mtp_logits of the draft head (with --rows 1)");
  command.add_option("--out", options.out, "safetensors file to write")
      ->required()
      ->check(require_path);
  command.callback([&command] {
    if (command.count("--tokens") + command.count("--tokens-file") != 1) {
      throw CLI::RequiredError("--tokens or --tokens-file");
    }
  });
}

void add_inspect_options(CLI::App& command, InspectOptions& options) {
  command.add_option("model,--model", options.model.model, kModelHelp)
      ->required()
      ->check(require_path);
  add_device_options(command, options.model);
  add_context_option(command, options.model);
  command.add_flag("--json", options.is_json, "Print one JSON object");
}

void add_tune_options(CLI::App& command, TuneOptions& options) {
  add_model_options(command, options.model);
  command.add_flag("--json", options.is_json, "Print one JSON object");
}

void add_convert_options(CLI::App& command, ConvertOptions& options) {
  command.add_option("--model", options.model.model, kModelHelp)->required()->check(require_path);
  command.add_option("--out", options.out, "Folder to write: new, or empty")
      ->required()
      ->check(require_path);
  command.add_option("--bits", options.bits, "Bits of a weight: 4 or 8")
      ->required()
      ->check(one_of({4, 8}));
  command.add_option("--group-size", options.group_size, "Weights that share a scale")
      ->check(one_of({32, 64, 128}))
      ->capture_default_str();
  command
      .add_option_function<std::vector<std::string>>(
          "--override",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts) options.overrides.push_back(parse_override(text));
          },
          "PATTERN=BITS (2, 3, 4, 5, 6, 8) or PATTERN=none for modules whose name in the result "
          "matches, like *.mlp.down_proj; the last one decides")
      ->take_all();
  command
      .add_option(
          "--max-kl", options.max_kl,
          "Largest mean KL divergence from the source in nats; default 0.25 for 4 bits, 0.02 for 8")
      ->check(number(0, 1e6));
  command
      .add_option("--min-agreement", options.min_agreement,
                  "Least share of equal top tokens; default 0.8 for 4 bits, 0.95 for 8")
      ->check(number(0, 1));
  command
      .add_option("--eval-file", options.eval_file,
                  "Text to measure on; -: standard input; default: a built-in one")
      ->check(require_path);
  command.add_flag("--force", options.is_forced, "Keep the result whatever the measurement says");
  command.footer(
      "A convert that is killed leaves a folder whose name ends in .partial-PID, in or beside "
      "--out; "
      "it may be deleted.");
  add_device_options(command, options.model);
}

void add_eval_options(CLI::App& command, EvalOptions& options) {
  command.add_option("--model", options.model.model, kModelHelp)->required()->check(require_path);
  command.add_option("--file", options.file, "Text to predict; -: standard input")
      ->required()
      ->check(require_path);
  command.add_option("--against", options.against, "Model to compare with, of the same vocabulary")
      ->check(require_path);
  command
      .add_option("--against-kernels", options.against_kernels,
                  "Kernel tables to compare with: amx, avx512, avx2, baseline, reference")
      ->check(require_kernels);
  command.add_option("--against-kv-type", options.against_kv_types, "Cache types to compare with")
      ->check(kv_type());
  command.add_option("--against-threads", options.against_threads, "Thread counts to compare with")
      ->check(whole_number(1, 256));
  add_window_options(command, options.windows);
  command.add_flag("--json", options.is_json, "Print one JSON object");
  add_device_options(command, options.model);
}

}  // namespace slip
