// Bounds of the engine, set once at start.
#pragma once

#include <cstdint>

namespace slip {

struct EngineLimits {
  int32_t sequences_max = 8;      // running at once; more wait in order
  int32_t queue_max = 256;        // waiting; more are refused
  int32_t kept_states_max = 0;    // of finished sequences, for texts that go on; 0 or more
  int32_t prompt_rows_max = 256;  // rows of prompt in one step, over all sequences
};

}  // namespace slip
