// slipstream compare: the same prompt with plain decoding and with drafts. Shows that the answers
// are the same and what the drafts gained.

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "app/answer.h"
#include "app/commands.h"
#include "app/draft_probe.h"
#include "app/interrupt.h"
#include "app/line_diff.h"
#include "app/repeated_answers.h"
#include "io/json_file.h"

namespace slip {

namespace {

constexpr size_t kShownLinesMax = 6;  // of each side of the comparison with the reference

// Runs of one way of decoding. All give the same tokens; the times differ.
struct Arm {
  std::string label;
  Drafting drafting;
  std::vector<Answer> answers;
};

std::string describe_accepted(const Arm& arm, const SequenceStats& stats) {
  std::string text;
  for (size_t i = 0; i < arm.drafting.chooser->sources().size(); ++i) {
    text += (text.empty() ? "" : ", ") + std::string(arm.drafting.chooser->sources()[i]->name()) +
            " " + std::to_string(stats.accepted_by_source[i]);
  }
  return text.empty() ? "-" : text + " of " + std::to_string(stats.drafted) + " drafted";
}

void print_table(const Arm& plain, const Arm& drafted) {
  std::printf("\n%-18s %10s %10s %8s  %s\n", "", "tokens/s", "tok/step", "steps",
              "accepted by source");
  for (const Arm* arm : {&plain, &drafted}) {
    const SequenceStats& stats = median_answer(arm->answers).finish.stats;
    std::printf("%-18s %10.0f %10.2f %8d  %s\n", arm->label.c_str(),
                decode_tokens_per_second(stats), tokens_per_step(stats), stats.steps,
                describe_accepted(*arm, stats).c_str());
  }
  const auto speed = [](const Arm& arm) {
    return decode_tokens_per_second(median_answer(arm.answers).finish.stats);
  };
  if (speed(plain) > 0 && speed(drafted) > 0) {
    std::printf(
        "\nDrafts made this answer %.2f times as fast (each line is the median of %zu runs, taken "
        "in turns).\n",
        speed(drafted) / speed(plain), plain.answers.size());
  } else {
    std::printf("\nThe answer is too short to be timed.\n");
  }
  const SequenceStats& read = median_answer(plain.answers, prefill_tokens_per_second).finish.stats;
  std::printf("Prompt: %d tokens, read at %.0f tokens/s. Answer: %d tokens.\n", read.prompt_tokens,
              prefill_tokens_per_second(read), read.completion_tokens);
}

void print_seed(const GenerateRequest& request) {
  if (request.sampling.shape.is_greedy()) return;
  std::printf("Drawn with seed %llu.\n", static_cast<unsigned long long>(request.seed));
}

// True when every run of both arms gave the same tokens.
bool check_same(const Arm& plain, const Arm& drafted) {
  const std::vector<TokenId>& wanted = plain.answers.front().tokens;
  for (const Arm* arm : {&plain, &drafted}) {
    const Answer* other = maybe_other(arm->answers, wanted);
    if (other == nullptr) continue;
    const auto at =
        std::mismatch(wanted.begin(), wanted.end(), other->tokens.begin(), other->tokens.end())
            .first;
    std::printf("DIFFERENT: a run of \"%s\" leaves plain decoding at token %td.\n",
                arm->label.c_str(), at - wanted.begin());
    return false;
  }
  std::printf("Same tokens: all %zu runs gave the same %zu tokens.\n",
              plain.answers.size() + drafted.answers.size(), wanted.size());
  return true;
}

void print_lines(const char* heading, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  std::printf("  %s\n", heading);
  for (size_t i = 0; i < std::min(lines.size(), kShownLinesMax); ++i)
    std::printf("    %s\n", lines[i].c_str());
  if (lines.size() > kShownLinesMax)
    std::printf("    ... and %zu more\n", lines.size() - kShownLinesMax);
}

void print_reference(const std::string& path, const std::string& text) {
  const LineDiff diff = diff_lines(read_text_file(path, ErrorCode::kInvalidArgument), text);
  std::printf("\nAgainst %s: %d of %d lines are as they should be.\n", path.c_str(), diff.n_equal,
              diff.n_wanted);
  if (diff.is_equal()) return;
  print_lines("Expected, but not in the answer:", diff.missing);
  print_lines("In the answer, but not expected:", diff.extra);
  std::printf("  The model wrote it so: drafts do not change a token.\n");
}

}  // namespace

int run_compare(const CompareOptions& options) {
  const AcceptRule rule = options.generate.sampling.params.rule;
  if (!is_exact(rule)) {
    throw Error(ErrorCode::kInvalidArgument,
                "--accept: found " + std::string(name(rule)) +
                    ", wanted exact or block: compare shows that drafts change nothing");
  }
  ModelSession session = load_session(options.generate.model);
  // A wrong path should not show after a minute of work.
  if (!options.reference.empty()) read_text_file(options.reference, ErrorCode::kInvalidArgument);
  Arm drafted{.label = "--draft " + options.generate.draft.source,
              .drafting = prepare_drafting(options.generate.draft, session)};
  if (drafted.drafting.runs_draft_head) warn_of_draft_head(session);
  Arm plain{.label = "plain decoding",
            .drafting = make_drafting({.source = "none"}, *session.runner)};
  GenerateOptions generate = options.generate;
  if (!generate.sampling.seed)
    generate.sampling.seed = 0;  // one answer, so that it can be the same
  const GenerateRequest request = make_request(session, generate);

  for (int32_t run = 0; run < options.n_runs; ++run) {
    for (Arm* arm : {&drafted, &plain}) {
      const bool is_first = run == 0 && arm == &drafted;
      arm->answers.push_back(answer(session, arm->drafting, request, /*is_streamed=*/is_first));
      if (is_first) std::printf("\n");
      std::fflush(stdout);
      if (is_interrupted()) return kExitInterrupted;
    }
  }
  print_table(plain, drafted);
  print_seed(request);
  const bool is_same = check_same(plain, drafted);
  if (!options.reference.empty()) print_reference(options.reference, plain.answers.front().text);
  return is_same ? 0 : 1;
}

}  // namespace slip
