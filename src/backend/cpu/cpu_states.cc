#include "backend/cpu/cpu_states.h"

#include <algorithm>

#include "backend/cpu/state_body.h"
#include "base/check.h"

namespace slip::cpu {
namespace {

constexpr size_t kGranuleBytes =
    size_t{2} << 20;  // a huge page: small enough to waste little, large enough to map rarely

int32_t granule_tokens(const KvLayout& layout) {
  const size_t n_blocks = std::max<size_t>(1, kGranuleBytes / layout.block_bytes());
  return static_cast<int32_t>(n_blocks) * kCacheBlockTokens;
}

void copy_all(const FloatBuffer& from, FloatBuffer& to) {
  std::copy_n(from.data(), from.size(), to.data());
}

}  // namespace

CpuStates::CpuStates(const StateLayout& layout, const StateLimits& limits)
    : StateTable(limits, granule_tokens(layout.kv)),
      layout_(layout),
      cache_(static_cast<size_t>(pool().n_granules()) * granule_bytes()),
      states_(static_cast<size_t>(limits.states_max)) {
  const auto n_layers = static_cast<size_t>(layout.n_recurrent_layers);
  const int32_t blocks_max =
      pool().n_for(limits.context_tokens_max) * (pool().granule_tokens() / kCacheBlockTokens);
  for (SequenceState& state : states_) {
    state.recurrent = FloatBuffer(n_layers * layout.recurrent_floats());
    state.conv = FloatBuffer(n_layers * layout.conv_floats());
    state.kept = FloatBuffer(n_layers * layout.kept_floats());
    state.blocks.reserve(static_cast<size_t>(blocks_max));
  }
}

size_t CpuStates::granule_bytes() const {
  return static_cast<size_t>(pool().granule_tokens() / kCacheBlockTokens) *
         layout_.kv.block_bytes();
}

void CpuStates::clear(StateId id) {
  std::ranges::fill(memory(id).recurrent.span(), 0.0f);
  std::ranges::fill(memory(id).conv.span(), 0.0f);
}

void CpuStates::copy(StateId from, StateId to) {
  copy_all(memory(from).recurrent, memory(to).recurrent);
  copy_all(memory(from).conv, memory(to).conv);
  copy_all(memory(from).kept, memory(to).kept);
}

bool CpuStates::attach(StateId id, int32_t index) {
  for (size_t at = 0; at < granule_bytes(); at += layout_.kv.block_bytes())
    memory(id).blocks.push_back(granule(index) + at);
  return true;
}

void CpuStates::detach(StateId id, size_t n_kept) {
  const auto n_blocks = static_cast<size_t>(pool().granule_tokens() / kCacheBlockTokens);
  memory(id).blocks.resize(n_kept * n_blocks);
}

void CpuStates::copy_granule(StateId from, StateId to, size_t i) {
  std::copy_n(granule(granules(from)[i]), granule_bytes(), granule(granules(to)[i]));
}

size_t CpuStates::body_bytes(int32_t n_tokens, bool keeps_draft_history) const {
  return state_body_bytes(layout_, n_tokens, keeps_draft_history);
}

void CpuStates::write_body(StateId id, std::span<std::byte> bytes) {
  const SequenceProgress& state = (*this)[id];
  write_state_body(memory(id), layout_, state.n_committed, state.options.keeps_draft_history,
                   bytes);
}

void CpuStates::read_body(StateId id, std::span<const std::byte> bytes) {
  const SequenceProgress& state = (*this)[id];
  read_state_body(memory(id), layout_, state.n_committed, state.options.keeps_draft_history, bytes);
}

}  // namespace slip::cpu
