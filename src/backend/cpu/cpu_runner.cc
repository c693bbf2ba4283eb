#include "backend/cpu/cpu_runner.h"

#include <memory>
#include <string>
#include <utility>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/cpu_states.h"
#include "backend/cpu/kernels/table.h"
#include "backend/cpu/lanes.h"
#include "backend/cpu/reference_ops.h"
#include "base/check.h"
#include "base/cpu_features.h"
#include "base/error.h"
#include "base/process_memory.h"
#include "base/thread_pool.h"
#include "model/model_runner.h"

namespace slip::cpu {

namespace {

constexpr std::string_view kReference = "reference";  // the definitions instead of a table

// What is decided before anything is laid out.
struct Choice {
  Lanes lanes;
  KvFormat cache;  // in the order that the attention kernel reads
};

// Checks the attention kernel on the way. Throws Error{kInvalidArgument} for a lane or a kernel
// that is not there.
Choice choose_lanes(const ModelConfig& config, const RunnerOptions& options) {
  const int32_t head_dim = config.attention.head_dim;
  if (options.kernels == kReference) {
    if (!options.lanes.empty() || !options.injected_lane.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "lane: found kernels \"reference\", wanted a table: definitions have no lanes");
    }
    return {{}, {options.kv_type, token_major(head_dim), token_major(head_dim)}};
  }
  Choice choice{make_lanes(options.lanes, options.injected_lane), {}};
  const KernelTable& table = choose(cpu_features(), options.kernels);
  choice.cache = choose_attention(table, config.attention, options.kv_type, choice.lanes.attention)
                     .format(head_dim);
  return choice;
}

// Weights in the order of the kernels are a copy. Throws Error{kInsufficientMemory}.
void check_room_for_copy(const LoadedModel& model) {
  const int64_t wanted = matrix_bytes(model);
  const int64_t found = available_memory_bytes();
  if (wanted <= found) return;
  throw Error(ErrorCode::kInsufficientMemory,
              "weights in the order of the kernels: found " + std::to_string(found) +
                  " bytes of memory, wanted " + std::to_string(wanted) +
                  "; with lane product=off they stay as they lie in the file, which is slower");
}

// The options with every 0 and every empty name replaced by what it stands for, all of them in
// range.
RunnerOptions resolve(const RunnerOptions& options, const ModelConfig& config) {
  check_widths(config);
  RunnerOptions resolved = resolve_sizes(options, config);
  if (resolved.kernels != kReference)
    resolved.kernels = choose(cpu_features(), resolved.kernels).name;
  return resolved;
}

std::unique_ptr<OpsStorage> make_ops(const ModelConfig& config, const RunnerOptions& options,
                                     CpuStates& states, ThreadPool& pool, Lanes lanes) {
  const OpsPlan plan = ops_plan(config, options, kSplits);
  if (options.kernels == kReference)
    return std::make_unique<ReferenceOps>(config, states.layout(), states.all(), plan);
  const KernelTable& table = choose(cpu_features(), options.kernels);
  return std::make_unique<CpuOps>(config, states.layout(), states.all(), plan, pool, table,
                                  std::move(lanes));
}

RunnerInfo make_info(const LoadedModel& model, const RunnerOptions& options,
                     const CpuStates& states, const OpsStorage& ops) {
  const StateLayout& layout = states.layout();
  RunnerInfo info =
      describe(model, options, kSplits, static_cast<int64_t>(layout.kv.block_bytes()));
  info.device = device_name(options.kernels, options.n_threads);
  info.packed_weight_bytes = ops.packed_bytes();
  info.workspace_bytes = ops.workspace_bytes();
  info.state_bytes = layout.n_bytes();
  info.cache_bytes = states.cache_bytes();
  return info;
}

}  // namespace

std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options) {
  LoadedModel model = load_model(file);
  const uint64_t fingerprint = model_fingerprint(file, model.config);
  std::unique_ptr<Runner> runner = make_runner(std::move(model), fingerprint, options);
  if (runner->info().packed_weight_bytes > 0) file.release_pages();
  return runner;
}

std::unique_ptr<Runner> make_runner(LoadedModel model, uint64_t fingerprint,
                                    const RunnerOptions& options) {
  const RunnerOptions resolved = resolve(options, model.config);
  Choice choice = choose_lanes(model.config, resolved);
  if (resolved.kernels != kReference && !choice.lanes.product.wants_plain())
    check_room_for_copy(model);
  auto pool = std::make_unique<ThreadPool>(resolved.n_threads);
  auto states =
      std::make_unique<CpuStates>(StateLayout(model.config, choice.cache), state_limits(resolved));
  std::unique_ptr<OpsStorage> ops =
      make_ops(model.config, resolved, *states, *pool, std::move(choice.lanes));
  auto transformer = std::make_unique<Transformer>(model, *ops);
  RunnerInfo info = make_info(model, resolved, *states, *ops);
  return std::make_unique<ModelRunner>(
      ModelRunnerParts{std::move(model), std::move(pool), std::move(states), std::move(ops),
                       std::move(transformer)},
      std::move(info), stored_kind(fingerprint, resolved.kv_type));
}

StateKind stored_kind(uint64_t fingerprint, DType kv_type) {
  return {.fingerprint = fingerprint, .device = "cpu", .cache_type = kv_type};
}

}  // namespace slip::cpu
