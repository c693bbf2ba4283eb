// Every model family in every weight format: parity with Hugging Face transformers, the same bits
// for a row wherever it runs, and text that drafting does not change. The golden files are those of
// tools/make_family_golden.py; the checkpoints are made by rule, the same one on both sides.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "draft/chooser.h"
#include "draft/copy_source.h"
#include "draft/mtp_source.h"
#include "engine/engine.h"
#include "io/json_file.h"
#include "io/model_file.h"
#include "io/testing/temporary_folder.h"
#include "model/families/family.h"
#include "parity_sequence.h"
#include "rule_model.h"
#include "test_device.h"

namespace slip {
namespace {

const std::filesystem::path kFolder = source_root() / "tests/golden/families";

// Sanitizers look for other mistakes than a wrong bit and make everything ten times as slow.
#if defined(SLIP_SANITIZED)
const std::vector<int32_t> kSegmentRows = {2, 3, 5, 8, 16, 31, 32};
constexpr int32_t kTextTokens = 24;
#else
const std::vector<int32_t> kSegmentRows = [] {
  std::vector<int32_t> rows;
  for (int32_t n = 2; n <= kSegmentRowsMax; ++n) rows.push_back(n);
  return rows;
}();
constexpr int32_t kTextTokens = 64;
#endif

std::vector<float> decode_base64_floats(const std::string& text) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int n_bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    bits = bits << 6 | static_cast<uint32_t>(kDigits.find(c));
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes.push_back(static_cast<char>(bits >> n_bits));
  }
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// Logits of some rows and the largest of every row.
struct Expected {
  std::vector<TokenId> argmax;  // [n]
  std::vector<int32_t> rows;    // ascending
  std::vector<float> logits;    // [rows.size(), vocab_size]

  explicit Expected(const nlohmann::json& json)
      : rows(json.at("rows").get<std::vector<int32_t>>()),
        logits(decode_base64_floats(json.at("logits"))) {
    for (const int32_t id : json.at("argmax")) argmax.push_back(TokenId{id});
  }

  // Row `row` where it is stored, else nothing.
  std::span<const float> row(int32_t row) const {
    const auto found = std::ranges::find(rows, row);
    if (found == rows.end()) return {};
    const size_t width = logits.size() / rows.size();
    return std::span(logits).subspan(static_cast<size_t>(found - rows.begin()) * width, width);
  }
};

// A golden file and the checkpoint that it lists. The files are gone at once, their mapping stays.
class Golden {
 public:
  explicit Golden(const std::string& name) : json_(read(name)), model_(write_and_open()) {
    for (const int32_t id : json_.at("tokens")) tokens_.push_back(TokenId{id});
  }

  const ModelFile& model() const { return model_; }
  const std::vector<TokenId>& tokens() const { return tokens_; }
  bool has(const char* key) const { return json_.contains(key); }
  Expected expected(const char* key) const { return Expected(json_.at(key)); }

  std::unique_ptr<Runner> load(int n_threads) const {
    return load_on_test_device(model_, {.n_threads = n_threads,
                                        .context_tokens_max = kContextTokens,
                                        .states_max = 2,
                                        .batch_rows_max = 64});
  }

 private:
  static nlohmann::json read(const std::string& name) {
    const std::filesystem::path path = kFolder / name;
    return parse_json(read_text_file(path), path.string());
  }
  ModelFile write_and_open() const {
    const test::TemporaryFolder folder;
    write_rule_model(json_, folder.path());
    return ModelFile::open(folder.path());
  }

  nlohmann::json json_;
  ModelFile model_;
  std::vector<TokenId> tokens_;
};

// How far logits were from the expected ones.
class Comparison {
 public:
  explicit Comparison(const Expected& expected) : expected_(expected) {}

  void compare(int32_t row, TokenId next, std::span<const float> got) {
    const auto i = static_cast<size_t>(row);
    EXPECT_EQ(next, expected_.argmax[i]) << "row " << row;
    const std::span<const float> want = expected_.row(row);
    if (want.empty()) return;
    const double error = relative_error(got, want);
    EXPECT_LE(error, kTolerance) << "row " << row;
    worst_ = std::max(worst_, error);
    ++n_compared_;
  }

  ~Comparison() {
    EXPECT_GT(n_compared_, 0);
    std::cout << "[  parity  ] " << n_compared_ << " rows, largest error " << worst_ << "\n";
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

 private:
  const Expected& expected_;
  double worst_ = 0;
  int n_compared_ = 0;
};

// The golden sequence in segments of `n_rows`; the last row of each is compared.
void expect_prompt_parity(const Golden& golden, const std::string& kernels, int32_t n_rows) {
  const Expected expected = golden.expected("trunk");
  ParitySequence sequence(golden.model(), kernels, {});
  Comparison comparison(expected);
  std::vector<float> logits(static_cast<size_t>(sequence.runner().info().vocab_size));
  std::span<const TokenId> rest = golden.tokens();
  while (!rest.empty()) {
    const size_t n = std::min(rest.size(), static_cast<size_t>(n_rows));
    const Verdict verdict = sequence.run(rest.first(n));
    rest = rest.subspan(n);
    sequence.runner().read_logits(0, logits);
    comparison.compare(sequence.n_committed() - 1, verdict.next, logits);
  }
}

// Entry i of the head has seen tokens up to i + 1 and hidden states up to i; it is drafted from
// after the segment that ends with i.
void expect_draft_parity(const Golden& golden, const std::string& kernels, int32_t n_rows) {
  const Expected expected = golden.expected("mtp");
  ParitySequence sequence(golden.model(), kernels, {.keeps_draft_history = true});
  Comparison comparison(expected);
  std::vector<float> logits(static_cast<size_t>(sequence.runner().info().vocab_size));
  const std::vector<TokenId>& tokens = golden.tokens();
  for (size_t n_done = 0; n_done < expected.argmax.size();) {
    const size_t n = std::min(expected.argmax.size() - n_done, static_cast<size_t>(n_rows));
    sequence.run(std::span(tokens).subspan(n_done, n));
    n_done += n;
    const TokenId next = sequence.draft(tokens[n_done], 1).front();
    sequence.runner().read_draft_logits(0, logits);
    comparison.compare(static_cast<int32_t>(n_done) - 1, next, logits);
  }
}

// A state that has read the first tokens of the golden sequence, and what follows them.
class Prompted {
 public:
  Prompted(const Golden& golden, int n_threads)
      : runner_(golden.load(n_threads)), start_(runner_->open({}).value()) {
    EXPECT_TRUE(runner_->reserve(start_, kPromptTokens));
    run(start_, std::span(golden.tokens()).first(kPromptTokens), kPromptTokens);
    for (size_t i = 0; i < kSegmentRowsMax; ++i)
      text_.push_back(golden.tokens()[(kPromptTokens + i) % golden.tokens().size()]);
  }

  // Logits of the text's first `n` rows in one segment, all but the first as drafts.
  std::vector<float> in_one_segment(int32_t n) {
    return on_fork([&](StateId state) { return run(state, std::span(text_).first(size(n)), 1); });
  }

  // The same of all rows, one segment each.
  std::vector<float> one_by_one() {
    return on_fork([&](StateId state) {
      std::vector<float> all;
      for (const TokenId& token : text_) {
        const std::vector<float> logits = run(state, {&token, 1}, 1);
        all.insert(all.end(), logits.begin(), logits.end());
      }
      return all;
    });
  }

 private:
  static constexpr int32_t kPromptTokens = 9;

  static size_t size(int32_t n) { return static_cast<size_t>(n); }

  template <class Body>
  std::vector<float> on_fork(Body&& body) {
    const StateId state = runner_->fork(start_).value();
    EXPECT_TRUE(runner_->reserve(state, kPromptTokens + kSegmentRowsMax));
    std::vector<float> logits = body(state);
    runner_->close(state);
    return logits;
  }

  std::vector<float> run(StateId state, std::span<const TokenId> tokens, int32_t n_certain) {
    const Segment segment{.state = state,
                          .position = runner_->state_info(state).n_committed,
                          .n_rows = static_cast<int32_t>(tokens.size()),
                          .n_certain = n_certain};
    runner_->forward({.tokens = {tokens.begin(), tokens.end()}, .segments = {segment}});
    const size_t width = size(runner_->info().vocab_size);
    std::vector<float> logits(size(segment.n_logit_rows()) * width);
    for (int32_t row = 0; row < segment.n_logit_rows(); ++row)
      runner_->read_logits(row, std::span(logits).subspan(size(row) * width, width));
    Verdict verdict;
    runner_->accept({}, {&verdict, 1});
    return logits;
  }

  std::unique_ptr<Runner> runner_;
  StateId start_;
  std::vector<TokenId> text_;
};

bool begins_with_bits(const std::vector<float>& all, const std::vector<float>& first) {
  return first.size() <= all.size() &&
         std::memcmp(all.data(), first.data(), first.size() * sizeof(float)) == 0;
}

// A greedy continuation with one draft source, or none.
std::vector<TokenId> greedy_text(Runner& runner, std::unique_ptr<DraftSource> maybe_source,
                                 int32_t depth, const std::vector<TokenId>& prompt) {
  const bool runs_model = maybe_source != nullptr && maybe_source->runs_model();
  std::vector<std::unique_ptr<DraftSource>> sources;
  if (maybe_source != nullptr) sources.push_back(std::move(maybe_source));
  Chooser chooser(std::move(sources), {.adaptive = false, .n_tokens_max = depth});
  Engine engine(runner, chooser, {}, runs_model);
  engine.submit({.prompt = prompt, .max_tokens = kTextTokens});
  std::vector<TokenId> text;
  while (!engine.idle()) {
    for (const TokenChunk& chunk : engine.step())
      text.insert(text.end(), chunk.tokens.begin(), chunk.tokens.end());
  }
  return text;
}

// The golden sequence twice, so that there is something to copy.
std::vector<TokenId> repeated_prompt(const Golden& golden) {
  std::vector<TokenId> prompt = golden.tokens();
  prompt.insert(prompt.end(), golden.tokens().begin(), golden.tokens().end());
  return prompt;
}

const Family& family_of(const std::string& model_type) {
  const auto found = std::ranges::find(families(), model_type, &Family::model_type);
  EXPECT_NE(found, families().end());
  return *found;
}

std::vector<std::string> golden_files() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kFolder)) {
    if (entry.path().extension() == ".json")
      files.push_back(std::filesystem::relative(entry.path(), kFolder).generic_string());
  }
  std::ranges::sort(files);
  return files;
}

class FamilyParity : public testing::TestWithParam<std::string> {};

TEST_P(FamilyParity, EveryTensorHasItsPlace) {
  const Golden golden(GetParam());
  const Family& family = family_of(golden.model().config().at("model_type"));
  LoadedModel model{.config = family.parse_config(golden.model().config())};
  model.config.has_draft_head = golden.has("mtp");
  TensorFinder finder(golden.model(), model.owned);
  model.weights = family.find_weights(model.config, finder);
  EXPECT_EQ(finder.unused(), std::vector<std::string>());
}

TEST_P(FamilyParity, ChunksOfAnyLengthEndWithTheLogitsOfTransformers) {
  const Golden golden(GetParam());
  for (const int32_t n_rows : {1, 7, 23}) {
    SCOPED_TRACE(n_rows);
    expect_prompt_parity(golden, kBestKernels, n_rows);
  }
}

TEST_P(FamilyParity, DefinitionsGiveTheLogitsOfTransformers) {
  if (!is_on_cpu()) GTEST_SKIP() << kOfTheCpu;
  const Golden golden(GetParam());
  expect_prompt_parity(golden, kDefinitions, 7);
}

TEST_P(FamilyParity, DraftHeadIsThatOfTheDefinition) {
  const Golden golden(GetParam());
  ASSERT_EQ(golden.load(1)->info().has_draft_head, golden.has("mtp"));
  if (!golden.has("mtp")) return;
  for (const int32_t n_rows : {1, 7, 22}) {
    SCOPED_TRACE(n_rows);
    expect_draft_parity(golden, kBestKernels, n_rows);
  }
  if (is_on_cpu()) expect_draft_parity(golden, kDefinitions, 7);
}

TEST_P(FamilyParity, RowsHaveTheSameBitsInSegmentsOfAnyLength) {
  const Golden golden(GetParam());
  Prompted prompted(golden, 1);
  const std::vector<float> wanted = prompted.one_by_one();
  for (const int32_t n : kSegmentRows)
    EXPECT_TRUE(begins_with_bits(wanted, prompted.in_one_segment(n))) << n << " rows";
}

TEST_P(FamilyParity, RowsHaveTheSameBitsOnAnyNumberOfThreads) {
  const Golden golden(GetParam());
  const std::vector<float> wanted = Prompted(golden, 1).in_one_segment(kSegmentRowsMax);
  for (const int n_threads : {2, 3}) {
    const auto found = Prompted(golden, n_threads).in_one_segment(kSegmentRowsMax);
    EXPECT_TRUE(begins_with_bits(wanted, found)) << n_threads << " threads";
  }
}

TEST_P(FamilyParity, DraftsDoNotChangeTheText) {
  const Golden golden(GetParam());
  const std::unique_ptr<Runner> runner = golden.load(1);
  const std::vector<TokenId> prompt = repeated_prompt(golden);
  const std::vector<TokenId> wanted = greedy_text(*runner, nullptr, 0, prompt);
  ASSERT_EQ(wanted.size(), static_cast<size_t>(kTextTokens));
  for (const int32_t depth : {3, kDraftTokensMax}) {
    const CopyOptions copy{.sequences_max = 1, .context_tokens_max = kContextTokens};
    EXPECT_EQ(greedy_text(*runner, std::make_unique<CopySource>(copy), depth, prompt), wanted)
        << "copied " << depth;
  }
  if (!golden.has("mtp")) return;
  for (const int32_t depth : {1, 3, 8}) {
    EXPECT_EQ(greedy_text(*runner, std::make_unique<MtpSource>(*runner), depth, prompt), wanted)
        << "drafted " << depth;
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, FamilyParity, testing::ValuesIn(golden_files()),
                         [](const auto& test) {
                           std::string name = test.param.substr(0, test.param.find('.'));
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace slip
