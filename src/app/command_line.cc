#include "app/command_line.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "app/command_options.h"
#include "app/commands.h"
#include "app/environment.h"
#include "app/model_path.h"
#include "base/error.h"

namespace slip {

namespace {

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

// The commands and where their options go.
class Commands {
 public:
  void add_to(CLI::App& app) {
    add_generate_options(add(app, "generate", "Answer one prompt", run_generate, generate_),
                         generate_);
    add_chat_options(add(app, "chat", "Talk with a model in the terminal", run_chat, chat_), chat_);
    add_compare_options(
        add(app, "compare", "Answer one prompt with plain decoding and with drafts, and show both",
            run_compare, compare_),
        compare_);
    CLI::App* bench = app.add_subcommand("bench", "Measure speed");
    bench->require_subcommand(1);
    add_bench_decode_options(
        add(*bench, "decode", "Speed and acceptance of every draft source, as JSON lines",
            run_bench_decode, bench_decode_),
        bench_decode_);
    add_bench_attention_options(
        add(*bench, "attention",
            "Attention of one layer: time of a step by its rows, and the floor",
            run_bench_attention, bench_attention_),
        bench_attention_);
    add_bench_product_options(
        add(*bench, "product", "One matrix: time of a step by its rows, and the floor",
            run_bench_product, bench_product_),
        bench_product_);
    add_bench_delta_net_options(
        add(*bench, "delta-net",
            "Delta net of one layer: time of a step by its rows, and the floor",
            run_bench_delta_net, bench_delta_net_),
        bench_delta_net_);
    add_bench_step_options(
        add(*bench, "step",
            "A whole step in the shape of a published model, on random weights: time by rows",
            run_bench_step, bench_step_),
        bench_step_);
    add_bench_memory_options(
        add(*bench, "memory", "What is planned, and what verify steps take on top by context",
            run_bench_memory, bench_memory_),
        bench_memory_);
    add_bench_compare_options(
        add(*bench, "compare",
            "Where another setting would choose another token, and by what margin",
            run_bench_compare, bench_compare_),
        bench_compare_);
    add_logits_options(add(app, "logits", "Write the logits of given tokens", run_logits, logits_),
                       logits_);
    add_inspect_options(
        add(app, "inspect", "Say what a model is and what running it takes", run_inspect, inspect_),
        inspect_);
    add_tune_options(
        add(app, "tune", "Measure what steps cost here, for --draft auto", run_tune, tune_), tune_);
    add_convert_options(
        add(app, "convert", "Quantise a model and measure what that costs", run_convert, convert_),
        convert_);
    add_eval_options(add(app, "eval", "Perplexity on a text, and distance from another setting",
                         run_eval, eval_),
                     eval_);
  }

  int run_called() {
    const Environment environment = read_environment();
    for (std::string* model : models()) {
      if (!model->empty()) *model = find_model(*model, environment).string();
    }
    const auto called =
        std::ranges::find_if(rows_, [](const Row& row) { return row.command->parsed(); });
    return called->run();
  }

 private:
  struct Row {
    CLI::App* command;
    std::function<int()> run;
  };

  template <class Options>
  CLI::App& add(CLI::App& app, const char* name, const char* help, int (*run)(const Options&),
                Options& options) {
    CLI::App* command = app.add_subcommand(name, help);
    rows_.push_back({command, [run, &options] { return run(options); }});
    return *command;
  }

  // Of the commands that were not called they are empty.
  std::vector<std::string*> models() {
    return {&generate_.model.model,      &chat_.model.model,         &bench_decode_.model.model,
            &bench_compare_.model.model, &bench_memory_.model.model, &compare_.generate.model.model,
            &logits_.model.model,        &inspect_.model.model,      &tune_.model.model,
            &convert_.model.model,       &eval_.model.model,         &eval_.against};
  }

  GenerateOptions generate_;
  ChatOptions chat_;
  CompareOptions compare_;
  BenchDecodeOptions bench_decode_;
  BenchAttentionOptions bench_attention_;
  BenchProductOptions bench_product_;
  BenchDeltaNetOptions bench_delta_net_;
  BenchStepOptions bench_step_;
  BenchMemoryOptions bench_memory_;
  BenchCompareOptions bench_compare_;
  LogitsOptions logits_;
  InspectOptions inspect_;
  TuneOptions tune_;
  ConvertOptions convert_;
  EvalOptions eval_;
  std::vector<Row> rows_;
};

}  // namespace

int run_command_line(int argc, const char* const* argv) {
  CLI::App app("Slipstream: exact speculative decoding that stays cheap at long context",
               "slipstream");
  app.set_version_flag("--version", "slipstream " SLIP_VERSION);
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  Commands commands;
  commands.add_to(app);

  require_known_command(app, argc, argv);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::string called = "slipstream ";
    for (const CLI::App* command = &app; !command->get_subcommands().empty();) {
      command = command->get_subcommands().front();
      called += command->get_name() + " ";
    }
    throw Error(ErrorCode::kInvalidArgument,
                std::string(error.what()) + "; see " + called + "--help");
  }
  return commands.run_called();
}

int exit_status(ErrorCode code) {
  return code == ErrorCode::kInvalidArgument || code == ErrorCode::kNotFound ? 2 : 1;
}

}  // namespace slip
