#include "app/answer.h"

#include <cstdio>

#include "app/interrupt.h"
#include "app/standard_output.h"
#include "engine/engine.h"
#include "text/detokenizer.h"

namespace slip {

namespace {

void write_out(const std::string& text) {
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  flush_stdout();
}

double per_second(double n, double ms) { return ms > 0 ? n * 1e3 / ms : 0; }

}  // namespace

Answer answer(const ModelSession& session, const Drafting& drafting, const GenerateRequest& request,
              bool is_streamed) {
  Engine engine(*session.runner, *drafting.chooser, {}, drafting.runs_draft_head);
  Detokenizer detokenizer(session.tokenizer, /*skip_special=*/true);
  const SequenceId sequence = engine.submit(request);
  Answer result;
  bool is_finished = false;
  while (!is_finished) {
    if (is_interrupted()) engine.cancel(sequence);
    for (const TokenChunk& chunk : engine.step()) {
      std::string text;
      const bool has_stop = chunk.finish && chunk.finish->reason == FinishReason::kStop;
      for (size_t i = 0; i < chunk.tokens.size(); ++i) {
        const bool is_stop = has_stop && i + 1 == chunk.tokens.size();
        if (!is_stop) text += detokenizer.push(chunk.tokens[i]);
        result.tokens.push_back(chunk.tokens[i]);
      }
      if (chunk.finish) {
        text += detokenizer.finish();
        result.finish = *chunk.finish;
        is_finished = true;
      }
      result.text += text;
      if (is_streamed) write_out(text);
    }
  }
  if (result.finish.error) throw Error(*result.finish.error, result.finish.message);
  return result;
}

double prefill_tokens_per_second(const SequenceStats& stats) {
  // An answer cut before its first token has read an unknown part of the prompt.
  return stats.completion_tokens > 0 ? per_second(stats.prompt_tokens, stats.prefill_ms) : 0;
}

double decode_tokens_per_second(const SequenceStats& stats) {
  return per_second(stats.completion_tokens - 1, stats.decode_ms);
}

double tokens_per_step(const SequenceStats& stats) {
  return stats.steps > 0 ? static_cast<double>(stats.completion_tokens) / stats.steps : 0;
}

}  // namespace slip
