// slipstream bench step: what a whole step costs by rows, in the shape of a published model.

#include <nlohmann/json.hpp>

#include "app/bench_format.h"
#include "app/bench_kernels.h"
#include "app/commands.h"
#include "app/kv_type.h"
#include "app/read_ceiling.h"
#include "backend/cpu/step_bench.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "model/model_shapes.h"

namespace slip {

namespace {

// Asked for before the first byte is taken: a machine without memory answers no questions.
void require_memory(const BenchStepOptions& options, int64_t wanted) {
  const int64_t available = available_memory_bytes();
  if (wanted <= available) return;
  const auto gib = [](int64_t bytes) { return std::to_string((bytes + (1 << 29)) >> 30) + " GiB"; };
  throw Error(ErrorCode::kInsufficientMemory,
              "memory for " + options.model_shape + " in " + options.format + " with " +
                  std::to_string(options.context_tokens) + " tokens: found " + gib(available) +
                  ", wanted " + gib(wanted));
}

void require_context(const BenchStepOptions& options, int32_t model_max) {
  const int32_t most = model_max - cpu::kStepBenchRoomTokens;
  if (options.context_tokens <= most) return;
  throw Error(ErrorCode::kInvalidArgument,
              "--context: found " + std::to_string(options.context_tokens) + ", wanted at most " +
                  std::to_string(most) + ": " + options.model_shape + " ends at " +
                  std::to_string(model_max) + " and steps need room");
}

}  // namespace

int run_bench_step(const BenchStepOptions& options) {
  const cpu::StepBenchOptions step{.model = {.config = shape_config(options.model_shape),
                                             .format = parse_bench_format(options.format).value()},
                                   .context_tokens = options.context_tokens,
                                   .kv_type = parse_kv_type(options.kv_type).value()};
  require_context(options, step.model.config.context_tokens_max);
  require_memory(options, cpu::step_bench_bytes(step) + kReadCeilingBytes);
  const cpu::KernelBench bench = cpu::step_bench(
      {.n_threads = options.bench.n_threads, .kernels = options.bench.kernels}, step);
  return measure_kernel(bench, options.bench,
                        {{"bench", "step"},
                         {"shape", options.model_shape},
                         {"format", options.format},
                         {"kv_type", options.kv_type},
                         {"context", options.context_tokens}});
}

}  // namespace slip
