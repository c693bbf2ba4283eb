#include "app/chat_session.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/answer.h"
#include "app/answer_text.h"
#include "base/error.h"

namespace slip {

ChatSession::ChatSession(const ModelSession& session, const Drafting& drafting,
                         const ChatOptions& options, bool dims_reasoning)
    : session_(session),
      options_(options),
      dims_reasoning_(dims_reasoning),
      engine_(*session.runner, *drafting.chooser, {.kept_states_max = 1}, drafting.runs_draft_head,
              &session.tokenizer) {
  if (!options.system.empty()) messages_.push_back({.role = "system", .content = options.system});
}

Finish ChatSession::say(std::string text, const ChatView& view) {
  std::vector<ChatMessage> next = messages_;
  next.push_back({.role = "user", .content = std::move(text)});
  ChatPrompt prompt = encode_conversation(session_, next);
  AnswerText shown(prompt.begins_in_reasoning, dims_reasoning_);
  const GenerateRequest request = request_for(std::move(prompt.tokens));
  AnswerPace pace;
  const auto watch = [&](std::string_view bytes, const TokenChunk& chunk) {
    view.write(shown.push(bytes));
    pace.add(chunk);
    view.show_pace(pace);
  };
  const Answer result = answer(session_, engine_, request, watch);
  view.write(shown.finish());
  const bool has_answer =
      result.finish.reason != FinishReason::kCancelled || !shown.content().empty();
  if (has_answer) {
    next.push_back({.role = "assistant", .content = shown.content()});
    messages_ = std::move(next);
  }
  return result.finish;
}

GenerateRequest ChatSession::request_for(std::vector<TokenId> prompt) const {
  const auto n_prompt = static_cast<int32_t>(prompt.size());
  const int32_t n_context = session_.runner->info().context_tokens_max;
  if (n_prompt >= n_context) {
    throw Error(ErrorCode::kInsufficientMemory,
                "with this message the conversation has " + std::to_string(n_prompt) +
                    " tokens and --context is " + std::to_string(n_context) +
                    ", so no answer fits; a shorter message might, and /reset begins a new "
                    "conversation");
  }
  const int32_t n_wanted = options_.max_tokens > 0 ? options_.max_tokens : kMaxTokensDefault;
  GenerateRequest request{.prompt = std::move(prompt),
                          .max_tokens = std::min(n_wanted, n_context - n_prompt),
                          .stop_ids = session_.stop_ids};
  apply(options_.sampling, request);
  return request;
}

void ChatSession::reset() {
  const bool has_system = !messages_.empty() && messages_.front().role == "system";
  messages_.resize(has_system ? 1 : 0);
}

std::string describe_turn(const Finish& finish) {
  const SequenceStats& stats = finish.stats;
  char text[200];
  std::snprintf(text, sizeof text, "[%s] %d tokens at %.0f/s, %.2f tokens per step",
                std::string(name(finish.reason)).c_str(), stats.completion_tokens,
                decode_tokens_per_second(stats), tokens_per_step(stats));
  std::string line = text;
  if (stats.drafted > 0) {
    std::snprintf(text, sizeof text, ", %.0f %% of %d drafts accepted",
                  100.0 * stats.accepted / stats.drafted, stats.drafted);
    line += text;
  }
  line += "; prompt " + std::to_string(stats.prompt_tokens) + " tokens";
  if (stats.restored_tokens > 0)
    line += ", " + std::to_string(stats.restored_tokens) + " of them kept from before";
  return line;
}

}  // namespace slip
