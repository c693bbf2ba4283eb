// Drawn tokens of the real model: seeded text depends on nothing but prompt, settings and seed;
// unseeded text has the model's law; every way of ending leaves a state that one can go on from.

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "app/answer.h"
#include "engine/engine.h"
#include "test_device.h"

namespace slip {
namespace {

const std::filesystem::path kPrompts = source_root() / "examples/prompts";
#if defined(SLIP_SANITIZED)
constexpr int32_t kTokensMax = 24;
constexpr uint64_t kRounds = 6'000;
const DraftOptions kDrafts[] = {{.source = "mtp", .depth = 3}, {.source = "auto"}};
#else
constexpr int32_t kTokensMax = 80;
constexpr uint64_t kRounds = 20'000;
const DraftOptions kDrafts[] = {{.source = "mtp", .depth = 1},   {.source = "mtp", .depth = 3},
                                {.source = "mtp", .depth = 8},   {.source = "copy", .depth = 4},
                                {.source = "copy", .depth = 31}, {.source = "auto"}};
#endif

ModelSession load_with(int32_t n_threads) {
  return load_session({.model = (source_root() / "models/tiny-coder").string(),
                       .device = test_device(),
                       .n_threads = n_threads,
                       .context_tokens = 8192});
}

const ModelSession& model() {
  static const ModelSession kModel = load_with(1);
  return kModel;
}

const SamplingParams kWarm{.shape = {.temperature = 0.6f, .top_p = 0.95f, .top_k = 20}};
const SamplingParams kHot{.shape = {.temperature = 1, .min_p = 0.02f}};
const SamplingParams kPenalised{
    .shape = {.temperature = 1, .top_p = 0.95f},
    .penalties = {.presence = 0.2f, .frequency = 0.2f, .repetition = 1.1f},
    .logit_bias = {{TokenId{300}, 1.0f}}};
const SamplingParams kGreedyPenalised{.penalties = {.frequency = 0.3f, .repetition = 1.2f}};

std::vector<TokenId> prompt_of(const char* file) {
  return read_prompt(
      model(), {.file = (kPrompts / file).string(), .is_chat = std::string(file).ends_with(".md")});
}

GenerateRequest request_of(const char* file, const SamplingParams& sampling, uint64_t seed) {
  return {.prompt = prompt_of(file),
          .max_tokens = kTokensMax,
          .stop_ids = model().stop_ids,
          .sampling = sampling,
          .seed = seed};
}

std::vector<TokenId> tokens_of(const ModelSession& session, const GenerateRequest& request,
                               const DraftOptions& draft) {
  const Drafting drafting = make_drafting(draft, *session.runner);
  return answer(session, drafting, request, /*is_streamed=*/false).tokens;
}

struct SeededCase {
  const char* name;
  const char* file;
  SamplingParams sampling;
};
void PrintTo(const SeededCase& c, std::ostream* out) { *out << c.name; }

class SeededText : public testing::TestWithParam<SeededCase> {};

TEST_P(SeededText, IsThatOfPlainDecodingForEverySource) {
  const GenerateRequest request = request_of(GetParam().file, GetParam().sampling, 11);
  const std::vector<TokenId> wanted = tokens_of(model(), request, {.source = "none"});
  for (const DraftOptions& source : kDrafts)
    EXPECT_EQ(tokens_of(model(), request, source), wanted) << source.source << source.depth;
}

TEST_P(SeededText, IsTheSameForTwoThreads) {
  static const ModelSession kTwo = load_with(2);
  const GenerateRequest request = request_of(GetParam().file, GetParam().sampling, 12);
  EXPECT_EQ(tokens_of(kTwo, request, {.source = "auto"}),
            tokens_of(model(), request, {.source = "none"}));
}

INSTANTIATE_TEST_SUITE_P(
    Sampling, SeededText,
    testing::Values(SeededCase{"warm_edit", "01-rename-one-short.md", kWarm},
                    SeededCase{"hot_text", "10-imports.txt", kHot},
                    SeededCase{"penalised_edit", "08-repeat.md", kPenalised},
                    SeededCase{"penalised_text", "13-unit-test.txt", kPenalised},
                    SeededCase{"greedy_penalised_edit", "08-repeat.md", kGreedyPenalised}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

// Runs requests together; the answers in their order.
std::vector<std::vector<TokenId>> run_together(const std::vector<GenerateRequest>& requests,
                                               const char* source) {
  const Drafting drafting = make_drafting({.source = source}, *model().runner);
  Engine engine(*model().runner, *drafting.chooser, {}, drafting.runs_draft_head);
  std::map<SequenceId, std::vector<TokenId>> answers;
  for (const GenerateRequest& request : requests) answers[engine.submit(request)];
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step()) {
      auto& answer = answers[chunk.sequence];
      answer.insert(answer.end(), chunk.tokens.begin(), chunk.tokens.end());
    }
  }
  std::vector<std::vector<TokenId>> result;
  for (auto& [id, tokens] : answers) result.push_back(std::move(tokens));
  return result;
}

TEST(SeededNeighbours, ChangeNoToken) {
  const std::vector<GenerateRequest> requests = {request_of("10-imports.txt", kHot, 1),
                                                 request_of("13-unit-test.txt", kPenalised, 2),
                                                 request_of("09-docstring.txt", kWarm, 3)};
  std::vector<std::vector<TokenId>> alone;
  for (const GenerateRequest& request : requests)
    alone.push_back(tokens_of(model(), request, {.source = "none"}));
  EXPECT_EQ(run_together(requests, "mtp"), alone);
}

// The first two tokens behind a prompt, drawn in steps of one draft from the model's own head: the
// rows are the model's, read once for every token that can come first.
class FirstTokens {
 public:
  FirstTokens(const char* file, const SamplingParams& params)
      : params_(params), counts_(vocab_size()), sampler_(vocab_size()), runner_(*model().runner) {
    const std::vector<TokenId> prompt = prompt_of(file);
    counts_.add_prompt(prompt);
    state_ = runner_.open({.keeps_draft_history = true}).value();
    EXPECT_TRUE(runner_.reserve(state_, static_cast<int32_t>(prompt.size()) + 8));
    n_read_ = static_cast<int32_t>(prompt.size()) - 1;
    read(prompt);
    pending_ = prompt.back();
    draft_logits_ = read_draft_row();
    rows_first_ = read_row({});
  }
  ~FirstTokens() { runner_.close(state_); }

  // One round. `bias`: with this probability the first token is replaced by the least likely one
  // that could come.
  std::array<TokenId, 2> round(uint64_t seed, Coupling coupling, double bias = 0) {
    const SequenceSampling sampling{
        .params = &params_, .maybe_counts = &counts_, .seed = seed, .coupling = coupling};
    DraftLaw law;
    const TokenId draft = sampler_.draft(draft_logits_, query(sampling, {}, {}), &law).value();
    const std::array drafts = {draft};
    std::vector<float> logits = rows_first_;
    const std::vector<float>& second = row_behind(draft);
    logits.insert(logits.end(), second.begin(), second.end());
    const Verdict verdict = accept(sampler_, logits, query(sampling, drafts, {&law, 1}), choices_);
    const TokenId decided = verdict.n_accepted == 1 ? draft : verdict.next;
    const TokenId first = biased(decided, seed, bias);
    if (verdict.n_accepted == 1 && first == decided) return {first, verdict.next};
    return {first, draw_behind(sampling, first)};
  }

  // The law of the pair.
  std::map<std::array<TokenId, 2>, double> law() {
    const SequenceSampling sampling{.params = &params_, .maybe_counts = &counts_};
    std::map<std::array<TokenId, 2>, double> law;
    EXPECT_TRUE(sampler_.assign(rows_first_, query(sampling, {}, {}), params_.shape));
    const auto firsts = sampler_.distribution().tokens();
    const std::vector<TokenProbability> first(firsts.begin(), firsts.end());
    for (const TokenProbability& a : first) {
      RowQuery behind = query(sampling, {}, {});
      const std::array before = {a.id};
      behind.drafts = before;
      behind.n_before = 1;
      EXPECT_TRUE(sampler_.assign(row_behind(a.id), behind, params_.shape));
      for (const TokenProbability& b : sampler_.distribution().tokens())
        law[{a.id, b.id}] = a.p * b.p;
    }
    return law;
  }

 private:
  static int32_t vocab_size() { return model().runner->info().vocab_size; }

  RowQuery query(const SequenceSampling& sampling, std::span<const TokenId> drafts,
                 std::span<const DraftLaw> laws) const {
    return {.maybe_sampling = &sampling, .position = n_read_ + 1, .drafts = drafts, .laws = laws};
  }

  TokenId biased(TokenId first, uint64_t seed, double bias) {
    if (fine_uniform(seed, 0, Draw::kTest) >= bias) return first;
    const SequenceSampling sampling{.params = &params_, .maybe_counts = &counts_};
    EXPECT_TRUE(sampler_.assign(rows_first_, query(sampling, {}, {}), params_.shape));
    return sampler_.distribution().tokens().back().id;  // every shape here truncates
  }

  // The next step's only row.
  TokenId draw_behind(const SequenceSampling& sampling, TokenId first) {
    TokenCounts counts = counts_;
    counts.add_answer(first);
    SequenceSampling next = sampling;
    next.maybe_counts = &counts;
    RowQuery behind = query(next, {}, {});
    ++behind.position;
    return sampler_.choose(row_behind(first), behind).next;
  }

  void read(std::span<const TokenId> prompt) {
    for (int32_t done = 0; done < n_read_;) {
      const int32_t n = std::min(n_read_ - done, 64);
      run({prompt.begin() + done, prompt.begin() + done + n}, n);
      done += n;
    }
  }

  void run(const std::vector<TokenId>& tokens, int32_t n_certain) {
    const auto n_rows = static_cast<int32_t>(tokens.size());
    runner_.forward({.tokens = tokens,
                     .segments = {{.state = state_,
                                   .position = runner_.state_info(state_).n_committed,
                                   .n_rows = n_rows,
                                   .n_certain = n_certain}}});
    Verdict verdict;
    runner_.accept({}, {&verdict, 1});
  }

  std::vector<float> read_draft_row() {
    std::vector<float> logits(static_cast<size_t>(vocab_size()));
    TokenId out{};
    const DraftRequest request{.state = state_, .pending = pending_, .out = {&out, 1}};
    runner_.draft({&request, 1});
    runner_.read_draft_logits(0, logits);
    return logits;
  }

  // Behind the prompt and `more`, on a copy of the state.
  std::vector<float> read_row(const std::vector<TokenId>& more) {
    const StateId kept = state_;
    state_ = runner_.fork(kept).value();
    EXPECT_TRUE(runner_.reserve(state_, n_read_ + 4));
    std::vector<TokenId> tokens = {pending_};
    tokens.insert(tokens.end(), more.begin(), more.end());
    run(tokens, static_cast<int32_t>(tokens.size()));
    std::vector<float> logits(static_cast<size_t>(vocab_size()));
    runner_.read_logits(0, logits);
    runner_.close(state_);
    state_ = kept;
    return logits;
  }

  const std::vector<float>& row_behind(TokenId token) {
    const auto found = rows_second_.find(token);
    if (found != rows_second_.end()) return found->second;
    return rows_second_[token] = read_row({token});
  }

  SamplingParams params_;
  TokenCounts counts_;
  RowSampler sampler_;
  Runner& runner_;
  StateId state_{};
  int32_t n_read_ = 0;
  TokenId pending_{};
  std::vector<float> draft_logits_, rows_first_;
  std::map<TokenId, std::vector<float>> rows_second_;
  std::vector<RowChoice> choices_;
};

// How far chi-square lies above what a right sampler gives, as a standard normal; pairs expected
// fewer than five times count together. Source: Wilson and Hilferty 1931.
double excess(FirstTokens& tokens, Coupling coupling, double bias) {
  const std::map<std::array<TokenId, 2>, double> law = tokens.law();
  std::map<std::array<TokenId, 2>, double> found;
  for (uint64_t seed = 0; seed < kRounds; ++seed) ++found[tokens.round(seed, coupling, bias)];
  double chi_square = 0, rare_wanted = 0, rare_found = 0;
  int n_bins = 0;
  const auto add_bin = [&](double wanted, double n) {
    chi_square += (n - wanted) * (n - wanted) / wanted;
    ++n_bins;
  };
  for (const auto& [pair, p] : law) {
    const double wanted = p * static_cast<double>(kRounds);
    const double n = found.contains(pair) ? found[pair] : 0;
    found.erase(pair);
    if (wanted >= 5) {
      add_bin(wanted, n);
    } else {
      rare_wanted += wanted;
      rare_found += n;
    }
  }
  if (rare_wanted > 0) add_bin(rare_wanted, rare_found);
  EXPECT_TRUE(found.empty()) << "pairs that the law excludes";
  const double variance = 2.0 / (9 * (n_bins - 1));
  return (std::cbrt(chi_square / (n_bins - 1)) - (1 - variance)) / std::sqrt(variance);
}

// One right sampler in 10^9 lies above this; one with a bias of 2 % lies far above.
constexpr double kExcessMax = 6;

struct LawOfModel {
  const char* name;
  SamplingParams params;
  Coupling coupling;
};
void PrintTo(const LawOfModel& c, std::ostream* out) { *out << c.name; }

class LawOfSamples : public testing::TestWithParam<LawOfModel> {};

TEST_P(LawOfSamples, IsThatOfPlainDecoding) {
  FirstTokens tokens("10-imports.txt", GetParam().params);
  EXPECT_LT(excess(tokens, GetParam().coupling, 0), kExcessMax);
}

const SamplingParams kAllLimits{
    .shape = {.temperature = 1, .top_p = 0.95f, .top_k = 20, .min_p = 0.01f},
    .penalties = {.presence = 0.3f, .repetition = 1.1f}};
const SamplingParams kBlocks{.shape = kAllLimits.shape, .rule = AcceptRule::kBlock};

INSTANTIATE_TEST_SUITE_P(Sampling, LawOfSamples,
                         testing::Values(LawOfModel{"seeded", kAllLimits, Coupling::kSeeded},
                                         LawOfModel{"rejection", kAllLimits, Coupling::kRejection},
                                         LawOfModel{"rejection_whole_vocabulary", kHot,
                                                    Coupling::kRejection},
                                         LawOfModel{"blocks", kBlocks, Coupling::kRejection}),
                         [](const auto& test_case) { return std::string(test_case.param.name); });

TEST(ModelLaw, IsMissedByASamplerWithABiasOfTwoPerCent) {
  if (kRounds < 20'000) GTEST_SKIP() << "so few rounds do not show a bias of 2 %";
  FirstTokens tokens("10-imports.txt", kAllLimits);
  EXPECT_GT(excess(tokens, Coupling::kRejection, 0.02), kExcessMax);
}

// A first request that ends in some way, and a second one that goes on with its text.
struct Ending {
  const char* name;
  const char* source;
  int32_t max_tokens;
  int32_t stop_at;  // the token of the plain answer that is made a stop token; -1: none
  bool is_string;   // its text is a stop string instead
  bool is_cancelled;
};
void PrintTo(const Ending& c, std::ostream* out) { *out << c.name; }

class AfterEnding : public testing::TestWithParam<Ending> {};

std::vector<TokenId> run_on(Engine& engine, const GenerateRequest& request, int32_t cancel_after,
                            SequenceStats& stats) {
  const SequenceId id = engine.submit(request);
  std::vector<TokenId> tokens;
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step()) {
      tokens.insert(tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
      if (chunk.finish) stats = chunk.finish->stats;
    }
    if (static_cast<int32_t>(tokens.size()) >= cancel_after) engine.cancel(id);
  }
  return tokens;
}

TEST_P(AfterEnding, GoingOnGivesTheTokensOfAFreshRun) {
  const Ending& ending = GetParam();
  GenerateRequest request = request_of("08-repeat.md", {}, 0);
  const std::vector<TokenId> plain = tokens_of(model(), request, {.source = "none"});
  request.max_tokens = ending.max_tokens;
  request.stop_ids.clear();
  if (ending.stop_at >= 0) {
    const TokenId stop = plain[static_cast<size_t>(ending.stop_at)];
    if (ending.is_string) {
      request.stop_strings = {model().tokenizer.decode({&stop, 1}, /*skip_special=*/true)};
    } else {
      request.stop_ids = {stop};
    }
  }
  const Drafting drafting = make_drafting({.source = ending.source}, *model().runner);
  Engine engine(*model().runner, *drafting.chooser, {.kept_states_max = 1},
                drafting.runs_draft_head, &model().tokenizer);
  SequenceStats stats;
  const std::vector<TokenId> first =
      run_on(engine, request, ending.is_cancelled ? 6 : INT32_MAX, stats);
  ASSERT_FALSE(first.empty());

  GenerateRequest next = request_of("08-repeat.md", kWarm, 5);
  next.prompt.insert(next.prompt.end(), first.begin(), first.end());
  const std::vector<TokenId> question = prompt_of("09-docstring.txt");
  next.prompt.insert(next.prompt.end(), question.begin(), question.end());
  const std::vector<TokenId> found = run_on(engine, next, INT32_MAX, stats);
  EXPECT_GE(stats.restored_tokens, static_cast<int32_t>(request.prompt.size()));
  EXPECT_EQ(found, tokens_of(model(), next, {.source = "none"}));
}

INSTANTIATE_TEST_SUITE_P(
    Sampling, AfterEnding,
    testing::Values(Ending{"stop_as_pending_token", "none", 60, 9, false, false},
                    Ending{"stop_as_accepted_draft", "mtp", 60, 10, false, false},
                    Ending{"stop_as_correction", "mtp", 60, 3, false, false},
                    Ending{"stop_inside_a_copy", "copy", 60, 21, false, false},
                    Ending{"stop_string_inside_a_copy", "copy", 60, 20, true, false},
                    Ending{"max_tokens_inside_a_copy", "copy", 19, -1, false, false},
                    Ending{"max_tokens_inside_a_chain", "mtp", 10, -1, false, false},
                    Ending{"cancel", "auto", 60, -1, false, true}),
    [](const auto& test_case) { return std::string(test_case.param.name); });

}  // namespace
}  // namespace slip
