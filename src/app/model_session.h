// A model ready to answer: its file, its text side and its runner.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/options.h"
#include "backend/runner.h"
#include "io/model_file.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace slip {

struct ModelSession {
  ModelFile file;
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::vector<TokenId> stop_ids;
  std::unique_ptr<Runner> runner;
  double load_ms = 0;  // that all of this took
};

// Loads all of it. Throws Error naming the file or option that is wrong.
ModelSession load_session(const ModelOptions& options);

// The text side alone. Throws Error{kNotFound} for a folder without tokenizer.json, otherwise as
// Tokenizer::parse and ChatTemplate::parse do.
Tokenizer load_tokenizer(const ModelFile& file);
std::optional<ChatTemplate> load_chat_template(const ModelFile& file);

// Loads the runner alone: what a command without text needs.
std::unique_ptr<Runner> load_runner(const ModelFile& file, const ModelOptions& options);

// The prompt's tokens: the text as it stands, or as a user's message in the model's chat template.
// Throws Error{kInvalidArgument} for an empty prompt or a model without a template.
std::vector<TokenId> read_prompt(const ModelSession& session, const PromptOptions& options);

struct ChatPrompt {
  std::vector<TokenId> tokens;
  bool begins_in_reasoning = false;  // the template has opened it for the answer
};

// The conversation in the model's chat template, open for an answer. What messages spell never
// becomes a control token: the template alone is trusted with those. Throws Error{kInvalidArgument}
// for a model without a template, and for messages that the template refuses.
ChatPrompt encode_conversation(const ModelSession& session, std::span<const ChatMessage> messages);

// Tokens to generate: as asked, or the default where that fits the context. Throws
// Error{kInvalidArgument} naming --context or
// --max-tokens where prompt and answer do not fit.
int32_t resolve_max_tokens(const RunnerInfo& info, size_t prompt_tokens, int32_t asked);

}  // namespace slip
