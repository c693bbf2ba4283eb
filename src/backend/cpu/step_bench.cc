#include "backend/cpu/step_bench.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/bench_setup.h"
#include "backend/cpu/cpu_runner.h"
#include "backend/cpu/cpu_states.h"
#include "backend/split_rule.h"
#include "backend/stepped_state.h"
#include "base/check.h"

namespace slip::cpu {
namespace {

constexpr uint64_t kFingerprint = 0x5354455042454E43;  // any: no other runner loads these states
constexpr int32_t kDriftTokensMax =                    // steps before the state starts over
    kStepBenchRoomTokens - kSegmentRowsMax;
constexpr int32_t kStates = 2;  // as it was made, and as the steps leave it

RunnerOptions runner_options(const BenchDevice& device, const StepBenchOptions& options) {
  return {.n_threads = device.n_threads,
          .context_tokens_max = options.context_tokens + kStepBenchRoomTokens,
          .states_max = kStates,
          .batch_rows_max = kSegmentRowsMax,
          .kernels = device.kernels,
          .kv_type = options.kv_type};
}

StateLayout stored_layout(const StepBenchOptions& options) {
  const int32_t head_dim = options.model.config.attention.head_dim;
  return {options.model.config, {options.kv_type, token_major(head_dim), token_major(head_dim)}};
}

// A state with the context in it, in the form that a runner loads. Reading so many tokens would
// take a large model hours; what a step costs does not depend on what the cache says.
std::vector<std::byte> stored_context(const StepBenchOptions& options) {
  const StateLayout layout = stored_layout(options);
  const int32_t n_tokens = options.context_tokens;
  CpuStates states(layout,
                   {.states_max = 1, .context_tokens_max = n_tokens, .cache_tokens_max = n_tokens});
  const StateId id = states.open({}).value();
  SLIP_CHECK(states.reserve(id, n_tokens));
  SequenceState& memory = states.memory(id);
  fill_cache(layout.kv, memory.blocks);
  fill_normal(memory.recurrent.span(), 2, 0.1f);
  fill_normal(memory.conv.span(), 3, 1.0f);
  SequenceProgress& state = states[id];
  for (int32_t i = 0; i < n_tokens; ++i)
    state.ids.push_back(made_up_token(i, options.model.config.vocab_size));
  state.n_committed = state.n_folded = n_tokens;
  return write_state(states, id, {}, stored_kind(kFingerprint, options.kv_type));
}

// What steps of a model read and compute, by rows.
class StepCost {
 public:
  StepCost(const LoadedModel& model, int32_t context_tokens)
      : config_(model.config), context_tokens_(context_tokens) {
    add_matrix(model.weights.head);
    for (const LayerWeights& layer : model.weights.layers) {
      for_each_matrix(layer, [&](const WeightView& matrix) { add_matrix(matrix); });
      if (layer.experts.experts.empty()) continue;
      for_each_matrix(layer.experts.experts.front(), [&](const WeightView& matrix) {
        expert_bytes_ += static_cast<double>(matrix.n_bytes());
        expert_weights_ += 1.0 * matrix.n_out * matrix.n_in;
      });
    }
  }

  // Weights once, of the experts those that `n_rows` rows choose together if they choose
  // independently; the cache once; recurrent states come and go.
  double bytes(int32_t n_rows, const RunnerInfo& info) const {
    const ExpertsConfig& e = config_.experts;
    const double n_chosen =
        e.n_experts == 0
            ? 0
            : e.n_experts * (1 - std::pow(1 - 1.0 * e.n_experts_per_token / e.n_experts, n_rows));
    return matrix_bytes_ + n_chosen * expert_bytes_ +
           static_cast<double>(info.step_cache_bytes_per_token) * (context_tokens_ + n_rows) +
           2 * sizeof(float) * n_state_elements();
  }

  // A product and sum for each weight, for each dim of a key and a value that a row sees, and seven
  // operations for each element of a recurrent state.
  double flops(int32_t n_rows) const {
    const AttentionConfig& a = config_.attention;
    const double n_weights =
        matrix_weights_ + config_.experts.n_experts_per_token * expert_weights_;
    const double n_seen = context_tokens_ + (n_rows + 1) / 2.0;
    return n_rows * (2 * n_weights + 7 * n_state_elements() +
                     4.0 * config_.n_layers(MixerKind::kAttention) * a.q_width() * n_seen);
  }

 private:
  void add_matrix(const WeightView& matrix) {
    if (matrix.data == nullptr) return;
    matrix_bytes_ += static_cast<double>(matrix.n_bytes());
    matrix_weights_ += 1.0 * matrix.n_out * matrix.n_in;
  }
  double n_state_elements() const {
    const DeltaNetConfig& d = config_.delta_net;
    return 1.0 * config_.n_layers(MixerKind::kDeltaNet) * d.value_width() * d.key_dim;
  }

  ModelConfig config_;
  int32_t context_tokens_;
  double matrix_bytes_ = 0, matrix_weights_ = 0;  // without routed experts
  double expert_bytes_ = 0, expert_weights_ = 0;  // one expert of every layer
};

// A runner whose state stands behind the context.
struct StepSetup {
  StepSetup(const BenchDevice& bench_device, const StepBenchOptions& options, LoadedModel model)
      : device(bench_device),
        cost(model, options.context_tokens),
        context_tokens(options.context_tokens),
        runner(make_runner(std::move(model), kFingerprint, runner_options(bench_device, options))),
        base(runner->load(stored_context(options)).value()) {
    start_over();
  }

  void start_over() {
    state.reset();
    state.emplace(*runner, runner->fork(base).value());
    SLIP_CHECK(runner->reserve(state->id(), runner->info().context_tokens_max));
  }

  void prepare(int32_t n_rows) {
    const bool has_drifted = state->position() - context_tokens >= kDriftTokensMax;
    if (has_drifted || state->rows_in_split() < n_rows) start_over();
  }

  void run(int32_t n_rows) { state->verify(n_rows); }

  BenchThreads device;
  StepCost cost;
  int32_t context_tokens;
  std::unique_ptr<Runner> runner;
  StateId base;
  std::optional<SteppedState> state;
};

}  // namespace

int64_t step_bench_bytes(const StepBenchOptions& options) {
  const ModelConfig& config = options.model.config;
  const StateLayout layout = stored_layout(options);
  const int64_t cache = int64_t{options.context_tokens} *
                        static_cast<int64_t>(layout.kv.block_bytes()) / kCacheBlockTokens;
  const int64_t logits =
      int64_t{kSegmentRowsMax} * config.vocab_size * static_cast<int64_t>(sizeof(float));
  // The context is there twice while it is loaded.
  // So are the weights, the second time in the order of their kernel.
  return 2 * synthetic_bytes(options.model) + 2 * cache + (kStates + 1) * layout.n_bytes() + logits;
}

KernelBench step_bench(const BenchDevice& device, const StepBenchOptions& options) {
  const auto setup =
      std::make_shared<StepSetup>(device, options, make_synthetic_model(options.model));
  const RunnerInfo& info = setup->runner->info();
  return {
      .device = info.device,
      .kernel = info.kernels,
      .n_rows_max =
          std::min(kSegmentRowsMax, rows_until_split_change(options.context_tokens, info.n_splits)),
      .prepare = [setup](int32_t n_rows) { setup->prepare(n_rows); },
      .run = [setup](int32_t n_rows) { setup->run(n_rows); },
      .bytes = [setup](int32_t n_rows) { return setup->cost.bytes(n_rows, setup->runner->info()); },
      .flops = [setup](int32_t n_rows) { return setup->cost.flops(n_rows); },
      .measure_flops = [setup] { return setup->device.measure_flops(); }};
}

}  // namespace slip::cpu
