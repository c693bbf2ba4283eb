#include "app/answer.h"

#include <algorithm>
#include <cstdio>

#include "app/interrupt.h"
#include "app/progress_line.h"
#include "app/standard_output.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace slip {

namespace {

void show(const PromptProgress& progress, ProgressLine& line) {
  line.show("reading the prompt " + progress_bar(progress.n_read, progress.n_prompt) + " of " +
            std::to_string(progress.n_prompt) + " tokens");
}

double per_second(double n, double ms) { return ms > 0 ? n * 1e3 / ms : 0; }

}  // namespace

void write_out(std::string_view text) {
  if (text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  flush_stdout();
}

GenerateRequest make_request(const ModelSession& session, const GenerateOptions& options) {
  GenerateRequest request{.prompt = read_prompt(session, options.prompt),
                          .stop_ids = session.stop_ids};
  apply(options.sampling, request);
  request.max_tokens =
      resolve_max_tokens(session.runner->info(), request.prompt.size(), options.max_tokens);
  return request;
}

Answer answer(const ModelSession& session, const Drafting& drafting, const GenerateRequest& request,
              bool is_streamed) {
  Engine engine(*session.runner, *drafting.chooser, {}, drafting.runs_draft_head,
                &session.tokenizer);
  return answer(session, engine, request, [is_streamed](std::string_view text, const TokenChunk&) {
    if (is_streamed) write_out(text);
  });
}

Answer answer(const ModelSession& session, Engine& engine, const GenerateRequest& request,
              const std::function<void(std::string_view, const TokenChunk&)>& watch) {
  Detokenizer detokenizer(session.tokenizer, /*skip_special=*/true);
  StopMatcher matcher(request.stop_strings);
  const SequenceId sequence = engine.submit(request);
  Answer result;
  ProgressLine line;
  bool is_finished = false;
  while (!is_finished) {
    if (is_interrupted()) engine.cancel(sequence);
    for (const TokenChunk& chunk : engine.step()) {
      line.erase();
      std::string text;
      for (const TokenId token : chunk.tokens) {
        const bool is_stop = std::ranges::find(request.stop_ids, token) != request.stop_ids.end();
        if (!is_stop) matcher.push(detokenizer.push(token), text);
        result.tokens.push_back(token);
      }
      result.logprobs.insert(result.logprobs.end(), chunk.logprobs.begin(), chunk.logprobs.end());
      if (chunk.finish) {
        matcher.push(detokenizer.finish(), text);
        matcher.finish(text);
        result.finish = *chunk.finish;
        is_finished = true;
      }
      result.text += text;
      watch(text, chunk);
    }
    if (const auto progress = engine.progress()) show(*progress, line);
  }
  if (result.finish.error) throw Error(*result.finish.error, result.finish.message);
  return result;
}

double prefill_tokens_per_second(const SequenceStats& stats) {
  // An answer cut before its first token has read an unknown part of the prompt.
  const int32_t n_read = stats.prompt_tokens - stats.restored_tokens;
  return stats.completion_tokens > 0 ? per_second(n_read, stats.prefill_ms) : 0;
}

double decode_tokens_per_second(const SequenceStats& stats) {
  return per_second(stats.completion_tokens - 1, stats.decode_ms);
}

double tokens_per_step(const SequenceStats& stats) {
  return stats.steps > 0 ? static_cast<double>(stats.completion_tokens) / stats.steps : 0;
}

nlohmann::ordered_json accepted_by_source(const Chooser& chooser, const SequenceStats& stats) {
  nlohmann::ordered_json result = nlohmann::ordered_json::object();
  for (size_t i = 0; i < chooser.sources().size(); ++i) {
    result[std::string(chooser.sources()[i]->name())] = stats.accepted_by_source[i];
  }
  return result;
}

}  // namespace slip
