#include "backend/cuda/device_weights.h"

#include <algorithm>

namespace slip::cuda {
namespace {

constexpr size_t kAlignment = 256;
constexpr size_t kChunkBytes = size_t{16} << 20;  // larger matrices have a chunk of their own

}  // namespace

std::byte* DeviceWeights::allocate(size_t n_bytes) {
  const size_t wanted = (n_bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted > kChunkBytes) {
    // Before the last one, which still has room.
    const auto at = chunks_.empty() ? chunks_.end() : chunks_.end() - 1;
    return chunks_.emplace(at, wanted)->data();
  }
  if (chunks_.empty() || n_used_ + wanted > chunks_.back().size()) {
    chunks_.emplace_back(kChunkBytes);
    n_used_ = 0;
  }
  std::byte* memory = chunks_.back().data() + n_used_;
  n_used_ += wanted;
  return memory;
}

std::byte* DeviceWeights::upload(const void* from, size_t n_bytes) {
  if (n_bytes == 0) return nullptr;
  std::byte* memory = allocate(n_bytes);
  stream_.to_device(memory, from, n_bytes);
  return memory;
}

MatrixRef DeviceWeights::add(const WeightView& weight) {
  const auto n_rows = static_cast<size_t>(weight.n_out);
  const size_t scale_bytes = weight.n_scale_rows() * weight.scale_row_bytes();
  matrices_.push_back(at_device(weight, upload(weight.data, n_rows * weight.row_bytes()),
                                upload(weight.scales, weight.scales == nullptr ? 0 : scale_bytes),
                                upload(weight.biases, weight.biases == nullptr ? 0 : scale_bytes)));
  return static_cast<MatrixRef>(matrices_.size() - 1);
}

VectorRef DeviceWeights::add(std::span<const float> values) {
  vectors_.push_back(reinterpret_cast<const float*>(upload(values.data(), values.size_bytes())));
  stream_.wait();  // the caller's values may be gone when this returns
  return static_cast<VectorRef>(vectors_.size() - 1);
}

ExpertsRef DeviceWeights::add(std::span<const FfnRefs> experts, const FfnRefs& shared) {
  const auto matrices = [&](const FfnRefs& ffn) {
    return ExpertMatrices{matrix(ffn.gate), matrix(ffn.up), matrix(ffn.down)};
  };
  std::vector<ExpertMatrices> table;
  for (const FfnRefs& ffn : experts) table.push_back(matrices(ffn));
  if (shared.gate != MatrixRef::kNone) table.push_back(matrices(shared));
  experts_.push_back(reinterpret_cast<const ExpertMatrices*>(
      upload(table.data(), table.size() * sizeof(ExpertMatrices))));
  stream_.wait();
  return static_cast<ExpertsRef>(experts_.size() - 1);
}

int64_t DeviceWeights::n_bytes() const {
  size_t sum = 0;
  for (const DeviceMemory<std::byte>& chunk : chunks_) sum += chunk.n_bytes();
  return static_cast<int64_t>(sum);
}

}  // namespace slip::cuda
