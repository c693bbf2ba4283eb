// The turns of a conversation, on the embedded model.

#include "app/chat_session.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "app/testing/embedded_model.h"
#include "base/testing/expect_error.h"

namespace slip {
namespace {

constexpr const char* kRequest = "Write a Python function.";

// A conversation of short answers.
struct Talk {
  explicit Talk(const ChatOptions& options)
      : model(load_session({.model = test::kEmbeddedModel, .n_threads = 1, .context_tokens = 256})),
        drafting(make_drafting({.source = "auto"}, *model.runner)),
        chat(model, drafting, options, /*dims_reasoning=*/false) {}

  Finish say(const std::string& text) {
    return chat.say(
        text, {.write = [this](std::string_view bytes) { shown += bytes; },
               .show_pace = [this](const AnswerPace& pace) { paces.push_back(pace.describe()); }});
  }

  ModelSession model;
  Drafting drafting;
  ChatSession chat;
  std::string shown;
  std::vector<std::optional<std::string>> paces;
};

TEST(ChatSession, KeepsWhatBothSaidInOrder) {
  Talk talk({.max_tokens = 8, .system = "Be brief."});
  talk.say(kRequest);
  const std::vector<ChatMessage>& messages = talk.chat.messages();
  ASSERT_EQ(messages.size(), 3U);
  EXPECT_EQ(messages[0].content, "Be brief.");
  EXPECT_EQ(messages[1].role, "user");
  EXPECT_EQ(messages[1].content, kRequest);
  EXPECT_EQ(messages[2].role, "assistant");
  EXPECT_EQ(messages[2].content, talk.shown);
  EXPECT_FALSE(talk.shown.empty());
}

TEST(ChatSession, ShowsThePaceOfEveryStepButTheFirst) {
  Talk talk({.max_tokens = 8});
  const Finish finish = talk.say(kRequest);
  ASSERT_EQ(talk.paces.size(), static_cast<size_t>(finish.stats.steps));
  EXPECT_FALSE(talk.paces.front());
  EXPECT_TRUE(talk.paces.back());
}

TEST(ChatSession, GoesOnFromTheStateOfTheLastAnswer) {
  Talk talk({.max_tokens = 8});
  const Finish first = talk.say(kRequest);
  const Finish second = talk.say(kRequest);
  EXPECT_EQ(first.stats.restored_tokens, 0);
  EXPECT_GE(second.stats.restored_tokens,
            first.stats.prompt_tokens + first.stats.completion_tokens - 1);
}

TEST(ChatSession, AnswersASecondTimeAsAFreshSessionWould) {
  Talk warm({.max_tokens = 16});
  warm.say(kRequest);
  const std::vector<ChatMessage> begin = warm.chat.messages();
  warm.say("Go on.");
  Talk cold({.max_tokens = 16});
  cold.chat.replace_messages(begin);
  EXPECT_EQ(cold.say("Go on.").stats.restored_tokens, 0);
  EXPECT_EQ(warm.chat.messages().back().content, cold.chat.messages().back().content);
}

TEST(ChatSession, RefusesAMessageThatLeavesNoRoomAndStaysAsItWas) {
  Talk talk({.max_tokens = 8});
  talk.say(kRequest);
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += "word ";
  EXPECT_TRUE(test::fails_with(ErrorCode::kInsufficientMemory, "--context is 256",
                               [&] { talk.say(long_text); }));
  EXPECT_EQ(talk.chat.messages().size(), 2U);
  talk.say(kRequest);
  EXPECT_EQ(talk.chat.messages().size(), 4U);
}

TEST(ChatSession, CutsAnAnswerAtTheEndOfTheContext) {
  Talk talk({.max_tokens = 100000});
  const Finish finish = talk.say("import unittest");
  EXPECT_LE(finish.stats.prompt_tokens + finish.stats.completion_tokens, 256);
}

TEST(ChatSession, KeepsControlTokensOutOfWhatIsSaid) {
  Talk talk({.max_tokens = 1});
  const TokenId end = talk.model.tokenizer.find("<|im_end|>").value();
  const auto n_ends = [&](const std::string& text) {
    const ChatMessage message{.role = "user", .content = text};
    return std::ranges::count(encode_conversation(talk.model, {&message, 1}).tokens, end);
  };
  EXPECT_EQ(n_ends("<|im_end|>"), n_ends("no such thing"));
}

TEST(ChatSession, ForgetsAllButTheSystemMessage) {
  Talk with_system({.max_tokens = 1, .system = "Be brief."});
  with_system.say(kRequest);
  with_system.chat.reset();
  ASSERT_EQ(with_system.chat.messages().size(), 1U);
  EXPECT_EQ(with_system.chat.messages()[0].role, "system");
  Talk without({.max_tokens = 1});
  without.say(kRequest);
  without.chat.reset();
  EXPECT_TRUE(without.chat.messages().empty());
}

TEST(DescribeTurn, SaysWhatDraftsAndKeptStateGave) {
  SequenceStats stats{.prompt_tokens = 30,
                      .restored_tokens = 20,
                      .completion_tokens = 101,
                      .steps = 50,
                      .drafted = 80,
                      .accepted = 60};
  stats.decode_ms = 500;
  EXPECT_EQ(describe_turn({.reason = FinishReason::kStop, .stats = stats}),
            "[stop] 101 tokens at 200/s, 2.02 tokens per step, 75 % of 80 drafts accepted; prompt "
            "30 tokens, 20 of them kept from before");
}

TEST(DescribeTurn, LeavesOutWhatThereWasNot) {
  const SequenceStats stats{.prompt_tokens = 30, .completion_tokens = 1, .steps = 1};
  EXPECT_EQ(describe_turn({.reason = FinishReason::kLength, .stats = stats}),
            "[length] 1 tokens at 0/s, 1.00 tokens per step; prompt 30 tokens");
}

}  // namespace
}  // namespace slip
