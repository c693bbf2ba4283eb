// One conversation with a model: its messages, and an engine that goes on from where the last
// answer ended.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "app/answer_pace.h"
#include "app/drafting.h"
#include "app/model_session.h"
#include "app/options.h"
#include "engine/engine.h"

namespace slip {

// Who sees an answer come.
struct ChatView {
  std::function<void(std::string_view)> write;       // what to show, as it arrives
  std::function<void(const AnswerPace&)> show_pace;  // after every step
};

class ChatSession {
 public:
  // `session` and `drafting` outlive this object.
  //   dims_reasoning  with the control sequences of a terminal
  ChatSession(const ModelSession& session, const Drafting& drafting, const ChatOptions& options,
              bool dims_reasoning);

  // Goes on from these messages, as load_history() gives them.
  void replace_messages(std::vector<ChatMessage> messages) { messages_ = std::move(messages); }

  // Adds `text` and the answer to the messages; an answer that was interrupted stays as far as it
  // came. Where no content came before the interrupt, and where anything is thrown, the messages
  // are as before. Throws Error{kInsufficientMemory} where the context leaves no room for an
  // answer, and as encode_conversation() and answer() do.
  Finish say(std::string text, const ChatView& view);

  // Forgets all but the system message.
  void reset();

  const std::vector<ChatMessage>& messages() const { return messages_; }

 private:
  GenerateRequest request_for(std::vector<TokenId> prompt) const;

  const ModelSession& session_;
  ChatOptions options_;
  bool dims_reasoning_;
  Engine engine_;
  std::vector<ChatMessage> messages_;
};

// One line: how the answer ended, its speed and what its drafts did.
std::string describe_turn(const Finish& finish);

}  // namespace slip
