#include "backend/cuda/cuda_runner.h"

#include <string>
#include <utility>

#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/device_states.h"
#include "base/error.h"
#include "model/model_runner.h"

namespace slip::cuda {
namespace {

constexpr const char* kPlain = "plain";  // the only kernels so far

RunnerOptions resolve(RunnerOptions options, const ModelConfig& config) {
  check_widths(config);
  if (options.kernels.empty()) options.kernels = kPlain;
  if (options.kernels != kPlain) {
    throw Error(ErrorCode::kInvalidArgument,
                "kernels: found \"" + options.kernels + "\", wanted \"plain\" on a GPU");
  }
  if (!options.lanes.empty() || !options.injected_lane.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "lane: found one, wanted none: the kernels of a GPU have no lanes yet");
  }
  return resolve_sizes(std::move(options), config);
}

// W of the split rule: blocks of attention, one for each KV head and split, that the device runs
// at once.
int32_t splits_for(const DeviceInfo& device, const ModelConfig& config) {
  const int32_t n_kv_heads = config.attention.n_kv_heads;
  return (device.n_multiprocessors + n_kv_heads - 1) / n_kv_heads;
}

RunnerInfo make_info(const LoadedModel& model, const RunnerOptions& options,
                     const DeviceInfo& device, int32_t n_splits, const DeviceStates& states,
                     const CudaOps& ops) {
  const DeviceStateLayout& layout = states.layout();
  RunnerInfo info = describe(model, options, n_splits, layout.cache.block_bytes());
  info.device = "cuda (" + device.name + ")";
  info.packed_weight_bytes = ops.weight_bytes();
  info.workspace_bytes = ops.workspace_bytes();
  info.state_bytes = layout.n_bytes();
  info.cache_bytes = states.cache_bytes();
  return info;
}

}  // namespace

std::unique_ptr<Runner> load_runner(const ModelFile& file, const RunnerOptions& options) {
  LoadedModel model = load_model(file);
  const RunnerOptions resolved = resolve(options, model.config);
  const DeviceInfo device = use_device(options.device_index);
  const int32_t n_splits = splits_for(device, model.config);
  const StateKind kind{.fingerprint = model_fingerprint(file, model.config),
                       .device = "cuda" + std::to_string(n_splits),
                       .cache_type = resolved.kv_type};
  auto stream = std::make_shared<Stream>();
  auto states =
      std::make_unique<DeviceStates>(DeviceStateLayout(model.config, resolved.kv_type),
                                     state_limits(resolved), device.granule_bytes, stream);
  auto ops = std::make_unique<CudaOps>(model.config, ops_plan(model.config, resolved, n_splits),
                                       *states, stream);
  auto transformer = std::make_unique<Transformer>(model, *ops);
  stream->wait();  // the weights are there
  file.release_pages();
  RunnerInfo info = make_info(model, resolved, device, n_splits, *states, *ops);
  return std::make_unique<ModelRunner>(
      ModelRunnerParts{std::move(model), std::make_unique<ThreadPool>(resolved.n_threads),
                       std::move(states), std::move(ops), std::move(transformer)},
      std::move(info), kind);
}

}  // namespace slip::cuda
