// The chunks of one step, reused by the next, so that steady steps allocate nothing.
#pragma once

#include <span>
#include <vector>

#include "backend/batch.h"
#include "engine/request.h"

namespace slip {

class ChunkList {
 public:
  void clear() { n_chunks_ = 0; }

  // An empty chunk of `sequence`, valid until the next add.
  TokenChunk& add(SequenceId sequence);

  std::span<const TokenChunk> chunks() const { return std::span(chunks_).first(n_chunks_); }

 private:
  std::vector<TokenChunk> chunks_;  // those past n_chunks_ keep their capacity
  size_t n_chunks_ = 0;
};

}  // namespace slip
