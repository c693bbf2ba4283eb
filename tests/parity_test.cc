// Parity with Hugging Face transformers: a device (test_device.h) against the golden files that
// tools/make_golden.py wrote, on random small checkpoints and on the embedded model.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "io/mapped_file.h"
#include "io/model_file.h"
#include "io/safetensors.h"
#include "parity_sequence.h"
#include "test_device.h"

namespace slip {
namespace {

const std::filesystem::path kRoot = source_root();

struct Golden {
  ModelFile model;
  MappedFile file;
  TensorMap tensors;

  explicit Golden(const std::string& name)
      : model(ModelFile::open(kRoot / (name == "tiny-coder" ? "models" : "tests/golden") / name)),
        file(kRoot / "tests/golden" / name / "golden.safetensors"),
        tensors(parse_safetensors(file.bytes(), name)) {}

  std::vector<int32_t> ints(const std::string& name) const { return copy<int32_t>(name); }
  std::vector<TokenId> ids(const std::string& name) const { return copy<TokenId>(name); }

  // Row `row` of a [n, vocab_size] tensor.
  std::vector<float> row(const std::string& name, size_t row) const {
    const auto width = static_cast<size_t>(tensors.at(name).shape.at(1));
    const std::vector<float> all = copy<float>(name);
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * width);
    return {begin, begin + static_cast<std::ptrdiff_t>(width)};
  }

 private:
  template <class T>
  std::vector<T> copy(const std::string& name) const {
    const TensorView& view = tensors.at(name);
    std::vector<T> values(static_cast<size_t>(view.n_elements()));
    EXPECT_EQ(view.n_bytes, values.size() * sizeof(T)) << name;
    std::memcpy(values.data(), view.data, values.size() * sizeof(T));
    return values;
  }
};

// The stored logits of some rows, and how far ours were from them.
class Comparison {
 public:
  //   logits  [n_stored, vocab_size]
  //   rows    [n_stored] the row of the sequence that each belongs to
  Comparison(const Golden& golden, std::string logits, const std::string& rows,
             double tolerance = kTolerance)
      : golden_(golden),
        logits_(std::move(logits)),
        rows_(golden.ints(rows)),
        tolerance_(tolerance) {}

  // Compares if row `row` is stored. `read` fills the logits: reading costs a copy, so it is not
  // done for other rows.
  template <class Read>
  void compare(int32_t row, Read&& read) {
    const auto found = std::find(rows_.begin(), rows_.end(), row);
    if (found == rows_.end()) return;
    const std::vector<float> want =
        golden_.row(logits_, static_cast<size_t>(found - rows_.begin()));
    std::vector<float> got(want.size());
    read(std::span<float>(got));
    const double error = relative_error(got, want);
    EXPECT_LE(error, tolerance_) << logits_ << " of row " << row;
    worst_ = std::max(worst_, error);
    ++n_compared_;
  }

  ~Comparison() {
    EXPECT_GT(n_compared_, 0) << logits_ << ": no row was compared";
    std::cout << "[  parity  ] " << logits_ << ": " << n_compared_ << " rows, largest error "
              << worst_ << " of " << tolerance_ << "\n";
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

 private:
  const Golden& golden_;
  std::string logits_;
  std::vector<int32_t> rows_;
  double tolerance_;
  double worst_ = 0;
  int n_compared_ = 0;
};

// A golden folder, how many rows a segment gets, and what computes them.
struct Case {
  std::string golden;
  int32_t n_rows = 1;
  std::string kernels;

  friend std::ostream& operator<<(std::ostream& out, const Case& c) {
    return out << c.golden << ", " << c.n_rows << " rows, kernels '" << c.kernels << "'";
  }
};

std::vector<Case> cases(const std::vector<std::string>& goldens, const std::vector<int32_t>& rows,
                        const std::string& kernels = kBestKernels) {
  std::vector<Case> all;
  for (const std::string& golden : goldens) {
    for (const int32_t n_rows : rows) all.push_back({golden, n_rows, kernels});
  }
  return all;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.golden + "_rows_" + std::to_string(info.param.n_rows);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Parity : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (GetParam().kernels == kDefinitions && !is_on_cpu()) GTEST_SKIP() << kOfTheCpu;
  }
};
class PromptParity : public Parity {};
class VerifyParity : public Parity {};
class DraftParity : public Parity {};
class ChainParity : public Parity {};
class GreedyParity : public Parity {};

// Certain rows give logits for the last one only, so a segment of one row covers every row and
// longer ones their ends.
TEST_P(PromptParity, SegmentsEndWithTheLogitsOfTransformers) {
  const Golden golden(GetParam().golden);
  const std::vector<TokenId> tokens = golden.ids("tokens");
  const std::vector<TokenId> argmax = golden.ids("argmax");
  ParitySequence sequence(golden.model, GetParam().kernels, {});
  Comparison comparison(golden, "logits", "logit_rows");
  for (size_t n_done = 0; n_done < tokens.size();) {
    const size_t wanted = std::min(tokens.size() - n_done, static_cast<size_t>(GetParam().n_rows));
    const auto n = static_cast<size_t>(sequence.segment_rows(static_cast<int32_t>(wanted)));
    const Verdict verdict = sequence.run(std::span(tokens).subspan(n_done, n));
    n_done += n;
    EXPECT_EQ(verdict.next, argmax[n_done - 1]) << "after " << n_done << " tokens";
    comparison.compare(static_cast<int32_t>(n_done) - 1,
                       [&](std::span<float> logits) { sequence.runner().read_logits(0, logits); });
  }
}

// The prompt's own tokens as drafts. Random text is nearly always rejected, so rows also run on
// states that have just lost drafts.
TEST_P(VerifyParity, EveryRowOfADraftedSegmentHasTheLogitsOfTransformers) {
  const Golden golden(GetParam().golden);
  const std::vector<TokenId> tokens = golden.ids("tokens");
  ParitySequence sequence(golden.model, GetParam().kernels, {});
  Comparison comparison(golden, "logits", "logit_rows");
  while (sequence.n_committed() < static_cast<int32_t>(tokens.size())) {
    const int32_t position = sequence.n_committed();
    const int32_t wanted =
        std::min(static_cast<int32_t>(tokens.size()) - position, GetParam().n_rows);
    const int32_t n_rows = sequence.segment_rows(wanted);
    sequence.run(
        std::span(tokens).subspan(static_cast<size_t>(position), static_cast<size_t>(n_rows)), 1);
    for (int32_t row = 0; row < n_rows; ++row) {
      comparison.compare(position + row, [&](std::span<float> logits) {
        sequence.runner().read_logits(row, logits);
      });
    }
  }
}

// Entry i of the head has seen tokens up to i + 1 and hidden states up to i; it is drafted from
// after the segment that ends with i.
TEST_P(DraftParity, TeacherForcedDraftsHaveTheLogitsOfTheDefinition) {
  const Golden golden(GetParam().golden);
  const std::vector<TokenId> tokens = golden.ids("tokens");
  const std::vector<TokenId> argmax = golden.ids("mtp_argmax");
  ParitySequence sequence(golden.model, GetParam().kernels, {.keeps_draft_history = true});
  Comparison comparison(golden, "mtp_logits", "mtp_logit_rows");
  size_t n_done = 0;
  while (n_done < argmax.size()) {
    const size_t wanted = std::min(argmax.size() - n_done, static_cast<size_t>(GetParam().n_rows));
    const auto n = static_cast<size_t>(sequence.segment_rows(static_cast<int32_t>(wanted)));
    sequence.run(std::span(tokens).subspan(n_done, n));
    n_done += n;
    EXPECT_EQ(sequence.draft(tokens[n_done], 1).front(), argmax[n_done - 1])
        << "entry " << n_done - 1;
    comparison.compare(static_cast<int32_t>(n_done) - 1, [&](std::span<float> logits) {
      sequence.runner().read_draft_logits(0, logits);
    });
  }
}

// A draft run gives the logits of its last token, so each depth is a run of its own from the same
// state.
TEST_P(ChainParity, GreedyDraftChainIsThatOfTheDefinition) {
  const Golden golden(GetParam().golden);
  const TokenId pending = golden.ids("chain_pending").front();
  const std::vector<TokenId> chain = golden.ids("mtp_chain_tokens");
  ParitySequence sequence(golden.model, GetParam().kernels, {.keeps_draft_history = true});
  sequence.run_prompt(golden.ids("tokens"));
  Comparison comparison(golden, "mtp_chain_logits", "mtp_chain_rows");
  for (size_t depth = 1; depth <= chain.size(); ++depth) {
    EXPECT_EQ(sequence.draft(pending, depth),
              std::vector(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(depth)));
    comparison.compare(static_cast<int32_t>(depth) - 1, [&](std::span<float> logits) {
      sequence.runner().read_draft_logits(0, logits);
    });
  }
}

// The golden continuation as drafts: all must be accepted, and the token after them must be the
// next golden one.
TEST_P(GreedyParity, ContinuationIsThatOfTransformers) {
  const Golden golden(GetParam().golden);
  const std::vector<TokenId> greedy = golden.ids("greedy");
  ParitySequence sequence(golden.model, GetParam().kernels, {});
  ASSERT_EQ(sequence.run_prompt(golden.ids("tokens")).next, greedy.front());
  for (size_t i = 0; i + 1 < greedy.size();) {
    const size_t wanted = std::min(greedy.size() - 1 - i, static_cast<size_t>(GetParam().n_rows));
    const auto n = static_cast<size_t>(sequence.segment_rows(static_cast<int32_t>(wanted)));
    const Verdict verdict = sequence.run(std::span(greedy).subspan(i, n), 1);
    ASSERT_EQ(verdict.n_accepted, static_cast<int>(n) - 1) << "from continued token " << i;
    i += n;
    ASSERT_EQ(verdict.next, greedy[i]) << "continued token " << i;
  }
}

// Products round their inputs to eight bits of mantissa: 2^-9 / sqrt(3) of each answer at random,
// 1e-3. Some twenty lie behind a logit, and its row's largest is the measure: 2e-3 in the middle,
// five times that for the worst. On the trained model: random ones begin with norms of nearly
// nothing, which turn such a rounding into anything (the same products in float, of rounded inputs,
// move as far).
TEST(MatrixUnitParity, LogitsAreThoseOfTransformersButForRoundedInputs) {
  constexpr double kRounded = 1e-2;
  if (!is_on_cpu() || !cpu_features().amx_bf16) GTEST_SKIP() << "there is no matrix unit here";
  const Golden golden("tiny-coder");
  const std::vector<TokenId> tokens = golden.ids("tokens");
  ParitySequence sequence(golden.model, "amx", {});
  Comparison comparison(golden, "logits", "logit_rows", kRounded);
  for (size_t row = 0; row < tokens.size(); ++row) {
    sequence.run(std::span(tokens).subspan(row, 1));
    comparison.compare(static_cast<int32_t>(row),
                       [&](std::span<float> logits) { sequence.runner().read_logits(0, logits); });
  }
}

const std::vector<std::string> kRandom = {"kv1_ratio1", "kv2_ratio2", "kv4_ratio3", "one_token",
                                          "mtp"};

INSTANTIATE_TEST_SUITE_P(Random, PromptParity, testing::ValuesIn(cases(kRandom, {1, 7, 64, 200})),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Definition, PromptParity,
                         testing::ValuesIn(cases(kRandom, {1, 64}, kDefinitions)), case_name);
INSTANTIATE_TEST_SUITE_P(Embedded, PromptParity,
                         testing::ValuesIn(cases({"tiny-coder"}, {1, 7, 64, 200})), case_name);
INSTANTIATE_TEST_SUITE_P(Random, VerifyParity, testing::ValuesIn(cases(kRandom, {2, 5, 32})),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Random, DraftParity, testing::ValuesIn(cases({"mtp"}, {1, 7, 64})),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Definition, DraftParity,
                         testing::ValuesIn(cases({"mtp"}, {1}, kDefinitions)), case_name);
INSTANTIATE_TEST_SUITE_P(Embedded, DraftParity,
                         testing::ValuesIn(cases({"tiny-coder"}, {1, 7, 64})), case_name);
INSTANTIATE_TEST_SUITE_P(All, ChainParity, testing::ValuesIn(cases({"mtp", "tiny-coder"}, {1})),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Embedded, GreedyParity,
                         testing::ValuesIn(cases({"tiny-coder"}, {1, 8, 32})), case_name);

}  // namespace
}  // namespace slip
