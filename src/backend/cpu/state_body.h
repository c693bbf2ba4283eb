// What a sequence is on the CPU as bytes, in one canonical form whatever the order of its kernels:
//
//   per KV layer, head and block: keys [n, head_dim], values [n, head_dim] | recurrent | conv
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/cpu/sequence_state.h"

namespace slip::cpu {

//   n_tokens  committed
size_t state_body_bytes(const StateLayout& layout, int32_t n_tokens, bool keeps_draft_history);

// `state` is folded and only read (the format is stated once, for both directions).
//   bytes  [state_body_bytes()]
void write_state_body(SequenceState& state, const StateLayout& layout, int32_t n_tokens,
                      bool keeps_draft_history, std::span<std::byte> bytes);

// `state` has room for the tokens.
void read_state_body(SequenceState& state, const StateLayout& layout, int32_t n_tokens,
                     bool keeps_draft_history, std::span<const std::byte> bytes);

}  // namespace slip::cpu
