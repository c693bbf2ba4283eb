#include "backend/cuda/device_states.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "backend/cuda/kernels/delta_net/state_index.h"
#include "backend/split_rule.h"
#include "base/check.h"

namespace slip::cuda {
namespace {

static_assert(CacheLayout::kBlockTokens == kCacheBlockTokens);

// Copies the row of one token between its chunks in a plane and a plain row.
template <bool kToRow, class Row>
void convert_row(const CacheLayout& cache, int32_t token, std::byte* plane, Row* row) {
  const int32_t row_bytes = cache.head_dim * cache.bytes_of_element();
  for (int32_t at = 0; at < row_bytes; at += CacheLayout::kChunkBytes) {
    std::byte* in_plane = plane + cache.offset(token, at / cache.bytes_of_element());
    const auto n = static_cast<size_t>(std::min(CacheLayout::kChunkBytes, row_bytes - at));
    if constexpr (kToRow) {
      std::memcpy(row + at, in_plane, n);
    } else {
      std::memcpy(in_plane, row + at, n);
    }
  }
}

// Copies `n_tokens` rows of the planes of one layer between tiles and plain rows, for each head
// keys [n_tokens, head_dim], then values. Returns what follows the rows.
template <bool kToRows, class Rows>
Rows* convert_planes(const CacheLayout& cache, int32_t n_tokens, std::byte* planes, Rows* rows) {
  for (int32_t plane = 0; plane < 2 * cache.n_kv_heads; ++plane) {
    for (int32_t token = 0; token < n_tokens; ++token) {
      convert_row<kToRows>(cache, token, planes + plane * cache.plane_bytes(), rows);
      rows += cache.head_dim * cache.bytes_of_element();
    }
  }
  return rows;
}

}  // namespace

DeviceStateLayout::DeviceStateLayout(const ModelConfig& config, DType kv_type)
    : cache{.n_layers = config.n_kv_layers(),
            .n_kv_heads = config.attention.n_kv_heads,
            .head_dim = config.attention.head_dim,
            .type = kv_type},
      n_trunk_kv_layers(config.n_layers(MixerKind::kAttention)),
      n_recurrent_layers(config.n_layers(MixerKind::kDeltaNet)) {
  const DeltaNetConfig& d = config.delta_net;
  recurrent_floats = d.n_value_heads * head_floats(d.key_dim, d.value_dim);
  conv_floats = int64_t{std::max(0, d.conv_kernel - 1)} * d.conv_channels();
  kept_floats = int64_t{kDraftTokensMax} * (d.conv_channels() + 2 * d.n_value_heads);
}

int32_t DeviceStateLayout::cached_tokens(int32_t layer, int32_t n_committed,
                                         bool keeps_draft_history) const {
  return stored_cache_tokens(n_committed, layer >= n_trunk_kv_layers, keeps_draft_history);
}

int64_t DeviceStateLayout::n_bytes() const {
  return n_recurrent_layers * (recurrent_floats + conv_floats + kept_floats) *
         static_cast<int64_t>(sizeof(float));
}

int32_t DeviceStateLayout::granule_tokens(int64_t device_granule_bytes) const {
  const int64_t bytes = std::lcm(cache.block_bytes(), device_granule_bytes);
  return static_cast<int32_t>(bytes / cache.block_bytes()) * kCacheBlockTokens;
}

DeviceStates::DeviceStates(const DeviceStateLayout& layout, const StateLimits& limits,
                           int64_t device_granule_bytes, std::shared_ptr<Stream> stream)
    : StateTable(limits, layout.granule_tokens(device_granule_bytes)),
      layout_(layout),
      shared_stream_(std::move(stream)),
      stream_(*shared_stream_),
      granules_(pool().n_granules(),
                pool().granule_tokens() / kCacheBlockTokens * layout.cache.block_bytes()),
      states_(static_cast<size_t>(limits.states_max)),
      staging_(planes_bytes()) {
  const auto n = [&](int64_t floats) {
    return static_cast<size_t>(layout.n_recurrent_layers * floats);
  };
  for (Memory& state : states_) {
    state.cache = std::make_unique<Range>(granules_, pool().n_for(limits.context_tokens_max));
    state.recurrent = DeviceMemory<float>(n(layout.recurrent_floats));
    state.conv = DeviceMemory<float>(n(layout.conv_floats));
    state.kept = DeviceMemory<float>(n(layout.kept_floats));
  }
}

SegmentData DeviceStates::addresses(StateId id) const {
  const Memory& state = memory(id);
  return {.cache = state.cache->data(),
          .recurrent = state.recurrent.data(),
          .conv = state.conv.data(),
          .kept = state.kept.data()};
}

// Zero is also what pads the keys of a recurrent state.
void DeviceStates::clear(StateId id) {
  stream_.fill(memory(id).recurrent.data(), std::byte{0}, memory(id).recurrent.n_bytes());
  stream_.fill(memory(id).conv.data(), std::byte{0}, memory(id).conv.n_bytes());
}

void DeviceStates::copy(StateId from, StateId to) {
  const auto copy_all = [&](const DeviceMemory<float>& source, const DeviceMemory<float>& target) {
    stream_.on_device(target.data(), source.data(), source.n_bytes());
  };
  copy_all(memory(from).recurrent, memory(to).recurrent);
  copy_all(memory(from).conv, memory(to).conv);
  copy_all(memory(from).kept, memory(to).kept);
}

bool DeviceStates::attach(StateId id, int32_t granule) { return memory(id).cache->map(granule); }

void DeviceStates::detach(StateId id, size_t n_kept) {
  stream_.wait();  // what was given to the device may still use these addresses
  memory(id).cache->unmap_behind(static_cast<int32_t>(n_kept));
}

void DeviceStates::copy_granule(StateId from, StateId to, size_t i) {
  const auto n_bytes = static_cast<size_t>(granules_.granule_bytes());
  stream_.on_device(memory(to).cache->data() + i * n_bytes,
                    memory(from).cache->data() + i * n_bytes, n_bytes);
}

size_t DeviceStates::planes_bytes() const {
  return static_cast<size_t>(2 * layout_.cache.n_kv_heads * layout_.cache.plane_bytes());
}

std::byte* DeviceStates::planes(StateId id, int32_t block, int32_t layer) const {
  return memory(id).cache->data() + block * layout_.cache.block_bytes() +
         layout_.cache.keys(layer, 0);
}

size_t DeviceStates::body_bytes(int32_t n_tokens, bool keeps_draft_history) const {
  size_t n_rows = 0;
  for (int32_t layer = 0; layer < layout_.cache.n_layers; ++layer) {
    n_rows += static_cast<size_t>(layout_.cached_tokens(layer, n_tokens, keeps_draft_history));
  }
  const auto row_bytes = static_cast<size_t>(2 * layout_.cache.n_kv_heads * layout_.cache.head_dim *
                                             layout_.cache.bytes_of_element());
  return n_rows * row_bytes +
         static_cast<size_t>(layout_.n_recurrent_layers *
                             (layout_.recurrent_floats + layout_.conv_floats)) *
             sizeof(float);
}

void DeviceStates::for_stored_blocks(StateId id, const auto& visit) const {
  const SequenceProgress& state = (*this)[id];
  for (int32_t layer = 0; layer < layout_.cache.n_layers; ++layer) {
    const int32_t n_tokens =
        layout_.cached_tokens(layer, state.n_committed, state.options.keeps_draft_history);
    for (int32_t begin = 0; begin < n_tokens; begin += kCacheBlockTokens)
      visit(begin / kCacheBlockTokens, layer, std::min(kCacheBlockTokens, n_tokens - begin));
  }
}

// Layer by layer, block by block, head by head; then the recurrent state and its history as they
// are.
void DeviceStates::write_body(StateId id, std::span<std::byte> bytes) {
  std::byte* at = bytes.data();
  for_stored_blocks(id, [&](int32_t block, int32_t layer, int32_t n_tokens) {
    stream_.to_host(staging_.data(), planes(id, block, layer), staging_.size());
    stream_.wait();
    at = convert_planes<true>(layout_.cache, n_tokens, staging_.data(), at);
  });
  for (const DeviceMemory<float>* part : {&memory(id).recurrent, &memory(id).conv}) {
    stream_.to_host(at, part->data(), part->n_bytes());
    at += part->n_bytes();
  }
  stream_.wait();
  SLIP_CHECK(at == bytes.data() + bytes.size());
}

void DeviceStates::read_body(StateId id, std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  for_stored_blocks(id, [&](int32_t block, int32_t layer, int32_t n_tokens) {
    at = convert_planes<false>(layout_.cache, n_tokens, staging_.data(), at);
    stream_.to_device(planes(id, block, layer), staging_.data(), staging_.size());
    stream_.wait();
  });
  for (const DeviceMemory<float>* part : {&memory(id).recurrent, &memory(id).conv}) {
    stream_.to_device(part->data(), at, part->n_bytes());
    at += part->n_bytes();
  }
  stream_.wait();
}

}  // namespace slip::cuda
