#include "draft/copy_source.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/rng.h"

namespace slip {
namespace {

using Tokens = std::vector<TokenId>;

// One token a character, so that cases read as text.
Tokens chars(const std::string& text) {
  Tokens out;
  for (const char c : text) out.push_back(TokenId{c});
  return out;
}

std::string text_of(std::span<const TokenId> tokens) {
  std::string out;
  for (const TokenId token : tokens) out.push_back(static_cast<char>(token));
  return out;
}

constexpr CopyOptions kSmall = {.sequences_max = 2, .context_tokens_max = 512};

Draft propose(CopySource& source, std::span<const TokenId> tokens, int32_t n_max,
              SequenceId sequence = SequenceId{1}) {
  std::vector<Draft> drafts(1);
  const DraftQuery query = {.sequence = sequence, .tokens = tokens, .n_max = n_max};
  source.propose({&query, 1}, drafts);
  return drafts[0];
}

std::string proposed(CopySource& source, const std::string& text, int32_t n_max,
                     SequenceId sequence = SequenceId{1}) {
  return text_of(propose(source, chars(text), n_max, sequence).tokens);
}

// Steps of greedy decoding by a model that writes `answer` after `prompt`, whatever is drafted.
int32_t n_decoding_steps(CopySource& source, const Tokens& prompt, const Tokens& answer,
                         int32_t n_max) {
  Tokens text = prompt;
  text.insert(text.end(), answer.begin(), answer.end());
  int32_t n_steps = 1;
  size_t n = prompt.size() + 1;
  while (n < text.size()) {
    const Tokens draft = propose(source, std::span(text).first(n), n_max).tokens;
    EXPECT_LE(draft.size(), static_cast<size_t>(n_max));
    size_t n_accepted = 0;
    while (n_accepted < draft.size() && n + n_accepted < text.size() &&
           draft[n_accepted] == text[n + n_accepted]) {
      ++n_accepted;
    }
    n_steps += 1;
    n += n_accepted + 1;
  }
  return n_steps;
}

TEST(CopySource, ProposesNothingWhereNothingRepeats) {
  CopySource source(kSmall);
  const Draft draft = propose(source, chars("abcdefghijklmnop"), 8);
  EXPECT_TRUE(draft.tokens.empty());
  EXPECT_EQ(draft.match_tokens, 0);
}

TEST(CopySource, CopiesWhatFollowedTheSameContext) {
  CopySource source(kSmall);
  const Draft draft = propose(source, chars("one fish, two birds. one fi"), 7);
  EXPECT_EQ(text_of(draft.tokens), "sh, two");
  EXPECT_EQ(draft.match_tokens, 6);
}

TEST(CopySource, StopsAtTheEndOfTheText) {
  CopySource source(kSmall);
  EXPECT_EQ(proposed(source, "abcdeabcd", 31), "eabcd");
}

TEST(CopySource, GoesOnWhereTextRepeatsItself) {
  CopySource source(kSmall);
  EXPECT_EQ(proposed(source, "x = [abcabcabc", 10), "abcabcabca");
  EXPECT_EQ(proposed(source, "-----", 7, SequenceId{2}), "-------");
}

TEST(CopySource, ComesBackToTheSourceOneTokenAfterAChange) {
  CopySource source(kSmall);
  const std::string file = "(first=1, apple=2, last=3)\n";
  ASSERT_EQ(proposed(source, file + "(first=1, ", 4), "appl");
  ASSERT_EQ(proposed(source, file + "(first=1, X", 4), "");  // X was never seen
  EXPECT_EQ(proposed(source, file + "(first=1, XYZ=", 7), "2, last");
}

TEST(CopySource, RepeatsAReplacementThatWasMadeBefore) {
  CopySource source(kSmall);
  const std::string file = "values: a=foo; b=foo+1; c=foo-foo;\n";
  proposed(source, file + "values: a=", 4);
  proposed(source, file + "values: a=bar", 4);
  proposed(source, file + "values: a=bar;", 4);
  EXPECT_EQ(proposed(source, file + "values: a=bar; ", 20), "b=bar+1; c=bar-bar;\n");
}

TEST(CopySource, FinishesAReplacementThatTheDraftEndedIn) {
  CopySource source(kSmall);
  const std::string file = "values: a=foo; b=foo+1; c=foo-foo;\n";
  proposed(source, file + "values: a=", 4);
  proposed(source, file + "values: a=quux;", 4);
  ASSERT_EQ(proposed(source, file + "values: a=quux; ", 4), "b=qu");
  EXPECT_EQ(proposed(source, file + "values: a=quux; b=qu", 6), "ux+1; ");
}

TEST(CopySource, KeepsSequencesApart) {
  CopySource source(kSmall);
  proposed(source, "abcdefabcd", 3, SequenceId{1});
  EXPECT_EQ(proposed(source, "abcdxyabcd", 3, SequenceId{2}), "xya");
  EXPECT_EQ(proposed(source, "abcdefabcde", 3, SequenceId{1}), "fab");
}

TEST(CopySource, ForgetsASequenceAndReusesItsRoom) {
  CopySource source(kSmall);
  proposed(source, "abcdefabcd", 3, SequenceId{1});
  proposed(source, "abcdefabcd", 3, SequenceId{2});
  ASSERT_EQ(proposed(source, "abcdefabcd", 3, SequenceId{3}), "");  // no room
  source.forget(SequenceId{1});
  EXPECT_EQ(proposed(source, "qqabcdxyabcd", 3, SequenceId{3}), "xya");
}

TEST(CopySource, PlansAtMost48BytesAToken) {
  CopySource source({.sequences_max = 2, .context_tokens_max = 32768});
  EXPECT_LE(source.memory_bytes(), int64_t{2} * 32768 * 48);
}

// A made-up program: lines from a pool of templates, whose slots hold identifiers of one to four
// tokens. Identifiers share their pieces, so that a single agreeing token is weak evidence, as in
// real code.
class FakeProgram {
 public:
  static constexpr int32_t kTemplates = 30, kIdentifiers = 40, kPieces = 80;

  FakeProgram(uint64_t seed, int32_t n_lines) : seed_(seed) {
    for (int32_t i = 0; i < kIdentifiers; ++i) names_.push_back(new_name());
    std::vector<Tokens> templates;  // slots are -1
    for (int32_t i = 0; i < kTemplates; ++i) templates.push_back(new_template());
    for (int32_t i = 0; i < n_lines; ++i) {
      for (const TokenId token : templates[static_cast<size_t>(below(kTemplates))]) {
        const bool is_slot = static_cast<int32_t>(token) < 0;
        symbols_.push_back(is_slot ? -1 - below(kIdentifiers) : static_cast<int32_t>(token));
      }
      symbols_.push_back(kNewline);
    }
  }

  void rename(int32_t identifier) { names_[static_cast<size_t>(identifier)] = new_name(); }

  Tokens tokens() const {
    Tokens out;
    for (const int32_t symbol : symbols_) {
      if (symbol >= 0) {
        out.push_back(TokenId{symbol});
      } else {
        const Tokens& name = names_[static_cast<size_t>(-1 - symbol)];
        out.insert(out.end(), name.begin(), name.end());
      }
    }
    return out;
  }

 private:
  static constexpr int32_t kNewline = 0,
                           kWords = 40;  // words are 1 to 39, pieces of identifiers follow

  int32_t below(int32_t n) {
    return static_cast<int32_t>(uniform(seed_, n_drawn_++, Draw::kTest) * static_cast<float>(n));
  }
  Tokens new_name() {
    Tokens name(static_cast<size_t>(1 + below(4)));
    for (TokenId& token : name) token = TokenId{kWords + below(kPieces)};
    return name;
  }
  Tokens new_template() {
    Tokens line(static_cast<size_t>(4 + below(9)));
    for (TokenId& token : line) token = TokenId{below(3) == 0 ? -1 : 1 + below(kWords - 1)};
    return line;
  }

  uint64_t seed_;
  uint64_t n_drawn_ = 0;
  std::vector<Tokens> names_;
  std::vector<int32_t> symbols_;  // tokens, and -1 - identifier
};

struct EditCase {
  const char* name;
  int32_t n_renamed;
  int32_t n_max;
  double tokens_per_step_min;
};

// Bounds lie 10 % under what was measured (docs/experiments/2026-11-copy-source.md).
constexpr EditCase kEditCases[] = {
    {"copy", 0, 15, 13.7},          {"rename_one", 1, 15, 13.3},
    {"rename_three", 3, 15, 12.5},  {"rename_three_wide", 3, 31, 22.1},
    {"rename_twelve", 12, 15, 8.6},
};

TEST(CopySource, KeepsUpWithRenamesThroughAFile) {
  for (const EditCase& c : kEditCases) {
    double n_tokens = 0, n_steps = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      FakeProgram program(seed, 120);
      const Tokens prompt = program.tokens();
      for (int32_t i = 0; i < c.n_renamed; ++i) program.rename(3 * i);
      const Tokens answer = program.tokens();
      CopySource source({.sequences_max = 1, .context_tokens_max = 8192});
      n_steps += n_decoding_steps(source, prompt, answer, c.n_max);
      n_tokens += static_cast<double>(answer.size());
    }
    EXPECT_GE(n_tokens / n_steps, c.tokens_per_step_min) << c.name;
  }
}

}  // namespace
}  // namespace slip
