// The sequences of a runner on a GPU: a range of addresses for each cache, onto which granules of
// memory are mapped, and a recurrent state each.
#pragma once

#include <memory>
#include <vector>

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/attention/cache_layout.h"
#include "backend/cuda/kernels/step_data.h"
#include "backend/state_table.h"
#include "model/config.h"

namespace slip::cuda {

// Shapes of what a sequence has, from the configuration.
struct DeviceStateLayout {
  CacheLayout cache;
  int32_t n_trunk_kv_layers = 0;   // the first of cache.n_layers
  int32_t n_recurrent_layers = 0;  // each has the floats that follow
  int64_t recurrent_floats = 0;    // see kernels/delta_net
  int64_t conv_floats = 0;
  int64_t kept_floats = 0;

  DeviceStateLayout(const ModelConfig& config, DType kv_type);

  // Tokens that KV layer `layer` holds in a stored state.
  int32_t cached_tokens(int32_t layer, int32_t n_committed, bool keeps_draft_history) const;

  int64_t n_bytes() const;  // of one state, its cache aside
  // Tokens of a granule: the fewest whose blocks are whole granules of the device. At most 256
  // blocks where those have 2 MiB, since planes are multiples of 8 KiB.
  int32_t granule_tokens(int64_t device_granule_bytes) const;
};

class DeviceStates final : public StateTable {
 public:
  // Throws Error{kInsufficientMemory}.
  DeviceStates(const DeviceStateLayout& layout, const StateLimits& limits,
               int64_t device_granule_bytes, std::shared_ptr<Stream> stream);

  const DeviceStateLayout& layout() const { return layout_; }
  int64_t cache_bytes() const { return granules_.size() * granules_.granule_bytes(); }

  // The addresses of a sequence; rows and counts are the caller's.
  SegmentData addresses(StateId id) const;

  size_t body_bytes(int32_t n_tokens, bool keeps_draft_history) const override;
  void write_body(StateId id, std::span<std::byte> bytes) override;
  void read_body(StateId id, std::span<const std::byte> bytes) override;

 private:
  struct Memory {
    std::unique_ptr<Range> cache;
    DeviceMemory<float> recurrent, conv, kept;
  };
  // Calls visit(block, layer, n_tokens) for every cache block of a layer that has stored tokens.
  void for_stored_blocks(StateId id, const auto& visit) const;
  std::byte* planes(StateId id, int32_t block, int32_t layer) const;
  size_t planes_bytes() const;  // of a layer in a block

  void clear(StateId id) override;
  void copy(StateId from, StateId to) override;
  bool attach(StateId id, int32_t granule) override;
  void detach(StateId id, size_t n_kept) override;
  void copy_granule(StateId from, StateId to, size_t i) override;

  const Memory& memory(StateId id) const { return states_[index(id)]; }

  DeviceStateLayout layout_;
  std::shared_ptr<Stream> shared_stream_;
  Stream& stream_;
  Granules granules_;
  std::vector<Memory> states_;      // [states_max]
  std::vector<std::byte> staging_;  // planes of a layer in a block
};

}  // namespace slip::cuda
