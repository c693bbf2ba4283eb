#include "engine/chunk_list.h"

namespace slip {

TokenChunk& ChunkList::add(SequenceId sequence) {
  if (n_chunks_ == chunks_.size()) chunks_.emplace_back().tokens.reserve(kSegmentRowsMax);
  TokenChunk& chunk = chunks_[n_chunks_++];
  chunk.sequence = sequence;
  chunk.tokens.clear();
  chunk.logprobs.clear();
  chunk.n_drafted = chunk.n_accepted = 0;
  chunk.finish.reset();
  return chunk;
}

}  // namespace slip
