// A sequence state as bytes: what it covers, proof of that, and its content in one canonical form.
//
//   StateHeader | token ids | per KV layer, head and block: keys [n, head_dim], values
//   [n, head_dim] | recurrent | conv | hidden row
//
// The recurrent state is folded and the draft head's cache holds what the state's own tokens
// decide, so equal states give equal bytes whatever was drafted on the way.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/sequence_state.h"
#include "io/model_file.h"

namespace slip::cpu {

struct StateHeader {
  uint64_t magic = 0;
  uint64_t fingerprint = 0;  // of the model
  uint64_t token_hash = 0;   // of the ids
  uint64_t body_hash = 0;    // of everything after the header
  int32_t n_committed = 0;
  int32_t keeps_draft_history = 0;
  int32_t n_form_borders = 0;  // 0: step form throughout, the only form that the CPU runs so far
  int32_t cache_type = 0;      // DType of keys and values
};

// Identifies a model: its sizes, and names, types, shapes and first bytes of its tensors.
uint64_t model_fingerprint(const ModelFile& file, const ModelConfig& config);

// `state` is folded and settled; both are only read (the format is stated once, for both
// directions).
//   last_hidden  [hidden_size] of the last committed token; empty where no history is kept, or no
//                token
std::vector<std::byte> write_state(SequenceState& state, std::span<float> last_hidden,
                                   const StateLayout& layout, uint64_t fingerprint);

// Throws Error{kCorruptFile}: too short, not a state, another model, wrong length, damaged, ids
// without their hash or outside the vocabulary.
StateHeader read_state_header(std::span<const std::byte> bytes, const StateLayout& layout,
                              const RunnerInfo& info, uint64_t fingerprint);

// `state` has resumed at header.n_committed and has room. `header` came from read_state_header on
// the same bytes.
//   last_hidden  filled; as in write_state
void read_state_body(std::span<const std::byte> bytes, const StateHeader& header,
                     const StateLayout& layout, SequenceState& state, std::span<float> last_hidden);

}  // namespace slip::cpu
