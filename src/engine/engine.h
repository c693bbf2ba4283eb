// The engine: sequences in, tokens out, one step at a time. One thread owns it, the runner and the
// draft sources.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backend/runner.h"
#include "draft/chooser.h"
#include "engine/batch_builder.h"
#include "engine/chunk_list.h"
#include "engine/limits.h"
#include "engine/request.h"
#include "engine/scheduler.h"

namespace slip {

// How far a prompt has been read.
struct PromptProgress {
  int32_t n_read = 0;  // tokens, those that a kept state covered included
  int32_t n_prompt = 0;
};

class Engine {
 public:
  // `runner` and `chooser` outlive the engine. Throws Error{kInvalidArgument} for a limit below 1.
  //   keeps_draft_history  open states with the draft head's cache (some source runs it)
  //   maybe_tokenizer      for stop strings; outlives the engine
  Engine(Runner& runner, Chooser& chooser, const EngineLimits& limits, bool keeps_draft_history,
         const Tokenizer* maybe_tokenizer = nullptr);

  // Queues a request. Throws Error{kInvalidArgument} for an empty prompt, a token outside the
  // vocabulary, max_tokens < 1 or sampling out of its ranges; Error{kInsufficientMemory} when
  // prompt and answer together exceed the context or what the cache can ever hold, or the queue is
  // full: the message has the numbers.
  SequenceId submit(GenerateRequest request);

  // Ends a request wherever it is; its finish comes with the next step. Unknown and finished ids
  // are ignored.
  void cancel(SequenceId sequence);

  // One pass: admit, draft, build the batch, forward, accept, append. Returns the chunks of this
  // step, at most one a sequence, valid until the next call; empty and idle() when there is nothing
  // to do. A step that reads prompts only is empty too. Where the runner or a draft source throws,
  // every running sequence finishes with that error; what was streamed stays good, and waiting
  // requests try the next step.
  std::span<const TokenChunk> step();
  bool idle() const;

  // Of the first running request whose answer has not begun; nothing when there is none.
  std::optional<PromptProgress> progress() const;

 private:
  void end_cancelled();
  void admit();
  void draft();
  void build();
  void forward_and_accept();
  void append_all();
  void append_one(Sequence& sequence, const Segment& segment, const Verdict& verdict,
                  const ChosenDraft* maybe_draft, TokenChunk& chunk);
  void add_logprobs(const Sequence& sequence, int32_t logit_row, TokenChunk& chunk);
  void count_drafts(Sequence& sequence, const Verdict& verdict, const ChosenDraft& draft,
                    const TokenChunk& chunk);
  void report_cost();
  void end_all(const Error& error);
  void end(Sequence& sequence, TokenChunk& chunk, FinishReason reason);
  void end_with_error(Sequence& sequence, TokenChunk& chunk, ErrorCode code,
                      const std::string& message);

  Runner& runner_;
  Chooser& chooser_;
  BatchLimits batch_limits_;
  Scheduler scheduler_;

  // One step at work; every vector keeps its capacity for the next.
  std::vector<DraftQuery> queries_;
  std::vector<ChosenDraft> drafts_;           // [n_queries]; more where earlier steps asked more
  std::vector<const ChosenDraft*> draft_of_;  // [n_running], null where no draft was asked for
  std::vector<SequenceRows> rows_;            // [n_running]
  BatchPlan plan_;
  std::vector<AcceptRequest> requests_;  // [n_segments]
  std::vector<Verdict> verdicts_;        // [n_segments]
  std::vector<float> logits_;            // [vocab_size], of a row whose probabilities are asked for
  StepCost cost_;
  ChunkList chunks_;
};

}  // namespace slip
