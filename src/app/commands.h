// The commands of the program. Each returns the exit status; what goes wrong is thrown as Error.
#pragma once

#include "app/options.h"

namespace slip {

int run_generate(const GenerateOptions& options);
int run_chat(const ChatOptions& options);
int run_bench_decode(const BenchDecodeOptions& options);
int run_bench_attention(const BenchAttentionOptions& options);
int run_bench_product(const BenchProductOptions& options);
int run_bench_delta_net(const BenchDeltaNetOptions& options);
int run_bench_memory(const BenchMemoryOptions& options);
int run_bench_compare(const BenchCompareOptions& options);
int run_bench_step(const BenchStepOptions& options);
int run_compare(const CompareOptions& options);
int run_logits(const LogitsOptions& options);
int run_inspect(const InspectOptions& options);
int run_tune(const TuneOptions& options);
int run_convert(const ConvertOptions& options);
int run_eval(const EvalOptions& options);

inline constexpr int kExitInterrupted = 130;  // as a shell reports Ctrl-C

}  // namespace slip
