// The flags of each command: names, help, and the checks that need nothing but the value.
#pragma once

#include <CLI/CLI.hpp>

#include "app/options.h"

namespace slip {

// Each binds `options`, which outlives the command.
void add_generate_options(CLI::App& command, GenerateOptions& options);
void add_chat_options(CLI::App& command, ChatOptions& options);
void add_bench_attention_options(CLI::App& command, BenchAttentionOptions& options);
void add_bench_product_options(CLI::App& command, BenchProductOptions& options);
void add_bench_delta_net_options(CLI::App& command, BenchDeltaNetOptions& options);
void add_bench_memory_options(CLI::App& command, BenchMemoryOptions& options);
void add_bench_compare_options(CLI::App& command, BenchCompareOptions& options);
void add_bench_step_options(CLI::App& command, BenchStepOptions& options);
void add_bench_decode_options(CLI::App& command, BenchDecodeOptions& options);
void add_compare_options(CLI::App& command, CompareOptions& options);
void add_logits_options(CLI::App& command, LogitsOptions& options);
void add_inspect_options(CLI::App& command, InspectOptions& options);
void add_tune_options(CLI::App& command, TuneOptions& options);
void add_convert_options(CLI::App& command, ConvertOptions& options);
void add_eval_options(CLI::App& command, EvalOptions& options);

}  // namespace slip
