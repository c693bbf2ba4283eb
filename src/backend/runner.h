// The engine's view of a device: one loaded model, the states of its sequences, and one blocking
// call per step. The contract suite (backend/testing/runner_contract.h) is the normative text;
// every runner passes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/batch.h"
#include "backend/lane.h"
#include "base/ids.h"
#include "sample/accept.h"
#include "tensor/dtype.h"

namespace slip {

struct RunnerOptions {
  int32_t device_index = 0;        // of several devices of a kind
  int n_threads = 0;               // of the CPU: 0 takes every core this process may use
  int32_t context_tokens_max = 0;  // longest sequence; 0 takes the model's own limit
  int64_t cache_tokens_max =
      0;  // tokens that all sequences together can hold at least; 0: one full context
  int32_t states_max = 8;        // sequences and stored states alive at once
  int32_t batch_rows_max = 256;  // rows of one step
  std::string
      kernels{};  // name of a kernel table to force; empty takes the best this machine can run
  DType kv_type = DType::kBF16;     // of cached keys and values: F32, F16 or BF16
  std::vector<LaneOption> lanes{};  // those that are not to run their best kernel
  std::string injected_lane{};      // gets a wrong element into its output: tests its self-check
};

// What was planned at load. Bytes are the plan itself: a step allocates nothing beyond it.
struct RunnerInfo {
  std::string device;   // "cpu (avx2, 2 threads)"
  std::string kernels;  // "avx2": the kernel table in use, a value of RunnerOptions::kernels
  DType kv_type = DType::kF32;  // of cached keys and values
  int32_t vocab_size = 0;
  int32_t context_tokens_max = 0;
  int32_t batch_rows_max = 0;
  int32_t logit_rows_max = 0;
  int32_t states_max = 0;
  int32_t n_splits = 0;  // W of backend/split_rule.h
  bool has_draft_head = false;
  int64_t weight_bytes = 0;         // mapped from the file
  int64_t step_weight_bytes = 0;    // of these, what one plain decoding step reads
  int64_t packed_weight_bytes = 0;  // copies in the order of the kernels, beside the file's
  int64_t workspace_bytes = 0;
  int64_t state_bytes = 0;  // of one state, its cache blocks excluded
  int64_t cache_bytes_per_token = 0;
  int64_t step_cache_bytes_per_token =
      0;                    // of these, what a plain decoding step reads for each token before it
  int64_t cache_bytes = 0;  // of all cache blocks
};

struct StateOptions {
  bool keeps_draft_history = false;  // maintain the draft head's cache; needs info().has_draft_head
};

struct StateInfo {
  int32_t n_committed = 0;  // tokens that this state really covers
  uint64_t token_hash = 0;  // of their ids, in order
  std::vector<int32_t>
      form_borders;  // positions where rows change between step form and block form, ascending;
                     // a state begins in step form, so an empty list means step form throughout
};

// One run of the draft head: fills out[0] with a draft for the token after `pending`, out[i + 1]
// for the one after out[i]. It may end early, see backend/draft_chain.h.
struct DraftRequest {
  StateId state{};  // keeps a draft history, covers at least one token, has room for n_committed +
                    // out.size()
  TokenId pending{};       // the token at position n_committed: decided, not yet run
  std::span<TokenId> out;  // 1 to kDraftTokensMax tokens
  const SequenceSampling* maybe_sampling = nullptr;  // null: greedy
  std::span<DraftLaw> laws{};  // [out] what each was drawn from; may be empty where nothing is
                               // drawn: greedy, and the seeded coupling
  // The run ends behind the token at which the product of top_probability() falls below this.
  double reach_min = 0;
  int32_t* maybe_n_drafted = nullptr;  // set to the tokens of `out` that were filled
};

class Runner {
 public:
  virtual ~Runner() = default;

  virtual const RunnerInfo& info() const = 0;

  // What its fast paths have done so far; empty where it has none.
  virtual std::vector<LaneReport> lanes() const = 0;

  // An empty state. Nothing when states_max are alive.
  virtual std::optional<StateId> open(const StateOptions& options) = 0;
  virtual void close(StateId state) = 0;

  // A second state equal to this one, bit for bit. Shares full cache blocks. Nothing when there is
  // no room.
  virtual std::optional<StateId> fork(StateId state) = 0;

  // Makes room for positions below `n_tokens`, before the step that needs it. False when the plan
  // has no room; the state stays as it was. A later call with a smaller number gives nothing back.
  virtual bool reserve(StateId state, int32_t n_tokens) = 0;

  // Runs all rows of the batch. Every state has room for its rows. Asynchronous where the device
  // is.
  virtual void forward(const Batch& batch) = 0;

  // Judges the drafts of the last forward as sample/accept.h defines it, one verdict per segment in
  // order, and commits what survives: n_certain + n_accepted rows. A segment without `wants_next`
  // gets an empty verdict. The one call that waits for the device. Throws Error{kDevice} when the
  // device failed.
  //   requests  one per segment, or none at all: greedy, every draft certain
  virtual void accept(std::span<const AcceptRequest> requests, std::span<Verdict> verdicts) = 0;

  // Lowers the committed count, for a stop found inside an accepted run. Legal between an accept
  // and the next forward or save, which make the count final.
  //   n_tokens  [position + n_certain of the last segment, n_committed]
  virtual void truncate(StateId state, int32_t n_tokens) = 0;

  // Runs the draft head ahead of every request's state and draws from it as RowSampler::draft()
  // does. Changes no committed byte.
  virtual void draft(std::span<const DraftRequest> requests) = 0;

  // A copy of everything the state is: token ids, cache rows, recurrent states, draft-head history.
  // Equal states give equal bytes, whatever was drafted and rejected on the way. Folds what was
  // accepted, so no truncate may follow before the next accept.
  virtual std::vector<std::byte> save(StateId state) = 0;

  // A state from such a copy. Nothing when there is no room. Throws Error{kCorruptFile} when the
  // copy is damaged, belongs to another model, or its token ids do not have the hash it states.
  virtual std::optional<StateId> load(std::span<const std::byte> bytes) = 0;

  virtual StateInfo state_info(StateId state) const = 0;

  // The logits of the last forward (until the next forward or draft), or of the last token of a
  // draft run (likewise), for a request that no other outlasted.
  //   logit_row  counts rows that produced logits, over segments in order
  //   logits     [vocab_size]
  virtual void read_logits(int32_t logit_row, std::span<float> logits) = 0;
  virtual void read_draft_logits(int32_t request, std::span<float> logits) = 0;
};

}  // namespace slip
