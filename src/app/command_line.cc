#include "app/command_line.h"

#include <charconv>
#include <string>

#include <CLI/CLI.hpp>

#include "app/commands.h"
#include "backend/batch.h"

namespace slip {

namespace {

constexpr int32_t kTokensMax = 1 << 30;

// The library would take -1 for the largest value and cut what is larger than that.
std::string require_seed(const std::string& text) {
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  const bool is_good = error == std::errc() && end == text.data() + text.size();
  return is_good ? "" : "found " + text + ", wanted a number from 0 to 2^64 - 1";
}

std::string require_path(const std::string& text) {
  return text.empty() ? "found an empty path, wanted a file or folder" : "";
}

void add_model_options(CLI::App& command, ModelOptions& options) {
  command.add_option("--model", options.model, "Model folder (Hugging Face or MLX layout)")
      ->required()
      ->check(require_path);
  command.add_option("--device", options.device, "Where to run")->capture_default_str();
  command.add_option("--threads", options.n_threads, "CPU threads; 0: every usable core")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  command
      .add_option("--context", options.context_tokens,
                  "Longest sequence in tokens; 0: 32768 or the model's limit")
      ->check(CLI::Range(0, kTokensMax))
      ->capture_default_str();
  command.add_option("--kernels", options.kernels,
                     "Force a CPU kernel table by name, or \"reference\"");
}

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  add_model_options(command, options.model);
  CLI::Option* text = command.add_option("--prompt", options.prompt.text, "The prompt");
  CLI::Option* file =
      command.add_option("--prompt-file", options.prompt.file, "File with the prompt")
          ->check(require_path);
  text->excludes(file);
  command.add_flag("--chat", options.prompt.is_chat,
                   "The prompt is a user's message: apply the chat template");
  command.add_option("--draft", options.draft.source, "Draft source: none, mtp, copy, auto")
      ->capture_default_str();
  command
      .add_option("--depth", options.draft.depth,
                  "Most draft tokens in a step; 0: 3 for mtp, 31 otherwise")
      ->check(CLI::Range(0, kDraftTokensMax))
      ->capture_default_str();
  command
      .add_option("--max-tokens", options.max_tokens,
                  "Most tokens to generate; 0: 4096 or what the context leaves")
      ->check(CLI::Range(0, kTokensMax))
      ->capture_default_str();
  command
      .add_option("--seed", options.seed,
                  "Seed; greedy decoding draws nothing, so the answer does not depend on it")
      ->check(require_seed)
      ->capture_default_str();
  command.callback([&command] {
    if (command.count("--prompt") + command.count("--prompt-file") != 1) {
      throw CLI::RequiredError("--prompt or --prompt-file");
    }
  });
}

void add_compare_options(CLI::App& command, CompareOptions& options) {
  add_generate_options(command, options.generate);
  command
      .add_option("--reference", options.reference, "File with the text that the answer should be")
      ->check(require_path);
  command
      .add_option("--runs", options.n_runs, "Runs of each arm, taken in turns; medians are shown")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
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
      ->check(CLI::Range(1, kSegmentRowsMax))
      ->capture_default_str();
  command.add_option("--from", options.from, "First position whose logits are written")
      ->check(CLI::Range(0, kTokensMax))
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

// CLI11 would only say that a command is required.
void require_known_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::string known;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == argv[1]) return;
    known += (known.empty() ? "" : ", ") + command->get_name();
  }
  throw Error(ErrorCode::kInvalidArgument,
              "command: found \"" + std::string(argv[1]) + "\", wanted one of: " + known);
}

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Slipstream: exact speculative decoding that stays cheap at long context",
               "slipstream");
  app.set_version_flag("--version", "slipstream " SLIP_VERSION);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");

  GenerateOptions generate;
  CompareOptions compare;
  LogitsOptions logits;
  CLI::App* generate_command = app.add_subcommand("generate", "Answer one prompt");
  CLI::App* compare_command = app.add_subcommand(
      "compare", "Answer one prompt with plain decoding and with drafts, and show both");
  CLI::App* logits_command = app.add_subcommand("logits", "Write the logits of given tokens");
  add_generate_options(*generate_command, generate);
  generate_command->add_flag("--json", generate.is_json,
                             "Print one JSON object instead of streaming text");
  add_compare_options(*compare_command, compare);
  add_logits_options(*logits_command, logits);

  require_known_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorCode::kInvalidArgument, std::string(error.what()) + "; see slipstream --help");
  }
  if (generate_command->parsed()) return run_generate(generate);
  if (compare_command->parsed()) return run_compare(compare);
  return run_logits(logits);
}

int exit_status(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kNotFound ? 2 : 1;
}

}  // namespace slip
