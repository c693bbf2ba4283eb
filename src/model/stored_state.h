// A sequence state as bytes: what it covers, proof of that, and its content.
//
//   StateHeader | token ids | hidden row | body of StateTable
//
// The recurrent state is folded and the draft head's cache holds what the state's own tokens
// decide, so equal states give equal bytes whatever was drafted on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/state_table.h"
#include "io/model_file.h"
#include "model/config.h"

namespace slip {

// Which states a runner can go on with: those of its own model, its own device's arithmetic and
// order of bytes, and its own type of cache.
struct StateKind {
  uint64_t fingerprint = 0;  // of the model
  std::string device{};      // at most 8 characters
  DType cache_type = DType::kBF16;
};

struct StateHeader {
  uint64_t magic = 0;
  uint64_t fingerprint = 0;
  uint64_t device = 0;      // its characters
  uint64_t token_hash = 0;  // of the ids
  uint64_t body_hash = 0;   // of everything after the header
  int32_t n_committed = 0;
  int32_t keeps_draft_history = 0;
  int32_t n_form_borders = 0;  // 0: step form throughout, the only form that runs so far
  int32_t cache_type = 0;      // DType of keys and values
};

// Identifies a model: its sizes, and names, types, shapes and first bytes of its tensors.
uint64_t model_fingerprint(const ModelFile& file, const ModelConfig& config);

//   state        of `states`: folded, and its draft head's cache made up for
//   last_hidden  of the last committed token; empty where no history is kept, or no token
std::vector<std::byte> write_state(StateTable& states, StateId state,
                                   std::span<const float> last_hidden, const StateKind& kind);

// Throws Error{kCorruptFile}: too short, not a state, another model or device, wrong length,
// damaged, ids without their hash or outside the vocabulary.
StateHeader read_state_header(std::span<const std::byte> bytes, const StateTable& states,
                              const ModelConfig& config, int32_t context_tokens_max,
                              const StateKind& kind);

//   state        of `states`: empty, with room for the tokens; resumes
//   header       from read_state_header on the same bytes
//   last_hidden  [hidden_size] filled where a history is kept and there is a token
void read_state(std::span<const std::byte> bytes, const StateHeader& header, StateTable& states,
                StateId state, std::span<float> last_hidden);

}  // namespace slip
