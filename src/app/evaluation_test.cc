// Windows as a pure plan, and scores against sums done from the logits one row at a time.

#include "app/evaluation.h"

#include <cmath>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "app/eval_text.h"
#include "app/model_session.h"
#include "app/testing/embedded_model.h"
#include "app/token_reader.h"
#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "model/weights.h"

namespace slip {
namespace {

TEST(PlanWindows, ScoresEveryTokenButTheFirstOnce) {
  for (const int32_t n_tokens : {2, 3, 7, 8, 9, 100}) {
    for (const int32_t window : {2, 3, 8, 200}) {
      for (const int32_t stride : {1, window / 2, window - 1}) {
        if (stride < 1) continue;
        int32_t next = 1;
        for (const EvalWindow& w : plan_windows(n_tokens, window, stride)) {
          EXPECT_EQ(w.scored_from, next);
          EXPECT_LE(w.end - w.begin, window);
          EXPECT_LT(w.begin, w.scored_from);
          next = w.end;
        }
        EXPECT_EQ(next, n_tokens) << n_tokens << " " << window << " " << stride;
      }
    }
  }
}

TEST(PlanWindows, GivesLaterTokensTheContextThatIsLeft) {
  const std::vector<EvalWindow> windows = plan_windows(20, 8, 4);
  for (size_t i = 1; i < windows.size(); ++i)
    EXPECT_EQ(windows[i].scored_from - windows[i].begin, 4) << i;
  EXPECT_EQ(windows.size(), 4u);
}

TEST(TextScore, PutsTheSameNatsInThreeUnits) {
  const TextScore score{.n_tokens = 4, .n_bytes = 16, .nats = 8 * std::log(2.0)};
  EXPECT_NEAR(score.perplexity(), 4, 1e-12);
  EXPECT_NEAR(score.bits_per_byte(), 0.5, 1e-12);
}

class Evaluate : public testing::Test {
 protected:
  static std::unique_ptr<Runner> load(const ModelFile& file, const std::string& kernels = "") {
    return load_runner(file, {.kernels = kernels, .n_threads = 1, .context_tokens = 64});
  }

  static std::vector<TokenId> some_tokens(int32_t n, int32_t vocab_size) {
    std::vector<TokenId> tokens;
    for (int32_t i = 0; i < n; ++i) tokens.push_back(TokenId{(i * 37 + 11) % vocab_size});
    return tokens;
  }

  ModelFile file_ = ModelFile::open(test::kEmbeddedModel);
  Tokenizer tokenizer_ = load_tokenizer(file_);
  std::vector<TokenId> tokens_ = some_tokens(40, 8000);
};

TEST_F(Evaluate, SumsWhatOneRowAtATimeSays) {
  const std::unique_ptr<Runner> runner = load(file_);
  TokenReader reader(*runner, tokens_, false);
  double nats = 0;
  for (size_t i = 1; i < tokens_.size(); ++i) {
    std::vector<float> logits;
    reader.verify(1, logits);
    nats += negative_log_likelihood(logits, tokens_[i]);
  }
  const auto found =
      evaluate(*runner, nullptr,
               {.text = tokens_, .windows = plan_windows(40, 64, 32), .n_rows = 32}, tokenizer_);
  EXPECT_DOUBLE_EQ(found->score.nats, nats);
  EXPECT_EQ(found->score.n_tokens, 39);
}

TEST_F(Evaluate, ReadsEachWindowFromAnEmptyState) {
  const std::unique_ptr<Runner> runner = load(file_);
  const auto score = [&](std::vector<EvalWindow> windows) {
    return evaluate(*runner, nullptr, {.text = tokens_, .windows = std::move(windows), .n_rows = 5},
                    tokenizer_)
        ->score.nats;
  };
  const double first = score({{.begin = 0, .end = 20, .scored_from = 1}});
  const double second = score({{.begin = 10, .end = 30, .scored_from = 20}});
  EXPECT_NEAR(score({{.begin = 0, .end = 20, .scored_from = 1},
                     {.begin = 10, .end = 30, .scored_from = 20}}),
              first + second, 1e-9);
}

TEST_F(Evaluate, CountsTheBytesOfTheScoredTokens) {
  const std::unique_ptr<Runner> runner = load(file_);
  const std::vector<TokenId> text = tokenizer_.encode("def f(x): return x", AddedTokens::kIgnore);
  const auto n = static_cast<int32_t>(text.size());
  const auto found =
      evaluate(*runner, nullptr, {.text = text, .windows = plan_windows(n, 64, 32), .n_rows = 4},
               tokenizer_);
  EXPECT_EQ(found->score.n_bytes, 18 - static_cast<int64_t>(tokenizer_.bytes(text.front()).size()));
}

TEST_F(Evaluate, FindsNoDistanceBetweenTwoRunnersOfOneKind) {
  const std::unique_ptr<Runner> a = load(file_);
  const std::unique_ptr<Runner> b = load(file_);
  const auto found = evaluate(
      *a, b.get(), {.text = tokens_, .windows = plan_windows(40, 16, 8), .n_rows = 32}, tokenizer_);
  EXPECT_EQ(found->divergence.n_rows, 39);
  EXPECT_EQ(found->divergence.kl_max, 0);
  EXPECT_EQ(found->divergence.agreement, 1);
  EXPECT_EQ(found->score.nats, found->reference_score.nats);
}

TEST_F(Evaluate, FindsTheDistanceBetweenTwoModels) {
  const RandomModelFolder one({.seed = 1}), two({.seed = 2});
  const ModelFile one_file = ModelFile::open(one.path()), two_file = ModelFile::open(two.path());
  const std::unique_ptr<Runner> a = load(one_file), b = load(two_file);
  const std::vector<TokenId> text = some_tokens(40, 128);
  const auto found = evaluate(
      *a, b.get(), {.text = text, .windows = plan_windows(40, 64, 32), .n_rows = 32}, tokenizer_);
  EXPECT_GT(found->divergence.kl_mean, 1);
  EXPECT_LT(found->divergence.agreement, 0.2);
  EXPECT_NE(found->score.nats, found->reference_score.nats);
}

TEST_F(Evaluate, RefusesATextOfOneToken) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "wanted at least 2", [&] {
    read_eval_text("x", "text", tokenizer_, read_config(file_), {});
  }));
}

TEST_F(Evaluate, RefusesBytesThatAreNoText) {
  EXPECT_TRUE(test::fails_with(
      ErrorCode::kInvalidArgument, "text: found bytes that are no UTF-8",
      [&] { read_eval_text("a \xff text", "text", tokenizer_, read_config(file_), {}); }));
}

TEST_F(Evaluate, RefusesATextThatWouldTakeHours) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "text: found 33554433 bytes", [&] {
    read_eval_text(std::string(kEvalBytesMax + 1, ' '), "text", tokenizer_, read_config(file_), {});
  }));
}

TEST_F(Evaluate, RefusesAWindowBeyondTheModel) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--window: found 300000", [&] {
    read_eval_text("a text", "text", tokenizer_, read_config(file_), {.window_tokens = 300000});
  }));
}

TEST_F(Evaluate, RefusesAStrideAsWideAsTheWindow) {
  EXPECT_TRUE(test::fails_with(ErrorCode::kInvalidArgument, "--stride: found 8", [&] {
    read_eval_text("a text", "text", tokenizer_, read_config(file_),
                   {.window_tokens = 8, .stride_tokens = 8});
  }));
}

TEST_F(Evaluate, RefusesATokenizerOfALargerModel) {
  ModelConfig config = read_config(file_);
  config.vocab_size = 5;
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "but the model has 5",
                               [&] { read_eval_text("a text", "text", tokenizer_, config, {}); }));
}

}  // namespace
}  // namespace slip
