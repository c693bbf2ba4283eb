#include "app/bench_decode.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/draft_probe.h"
#include "app/interrupt.h"
#include "app/read_ceiling.h"
#include "app/repeated_answers.h"
#include "app/standard_output.h"
#include "app/tuned_cost.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/median.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

constexpr const char* kReplay = "replay";

// One way of drafting and its runs of one request. All give the same tokens; the times differ.
struct BenchArm {
  DraftOptions draft;
  Drafting drafting;
  std::vector<Answer> answers;
};

// A request that all arms answer.
struct Case {
  std::string workload;
  double temperature = 0;
  GenerateRequest request;
};

// What stays the same over all cases.
struct Bench {
  const ModelSession& session;
  const BenchDecodeOptions& options;
  const CostSurface& cost;
  ReadCeiling& read_ceiling;
};

// Where a chat message is a .md file and the begin of a text anything else.
GenerateRequest make_request(const ModelSession& session, const fs::path& prompt,
                             const BenchDecodeOptions& options) {
  GenerateOptions generate{
      .prompt = {.file = prompt.string(), .is_chat = prompt.extension() == ".md"},
      .max_tokens = options.max_tokens};
  generate.sampling.seed = options.seed;
  return make_request(session, generate);
}

// In order, so that a run can be compared with the runs of other sources beside it.
std::vector<double> decode_times(const std::vector<Answer>& answers) {
  std::vector<double> times;
  times.reserve(answers.size());
  for (const Answer& answer : answers) times.push_back(answer.finish.stats.decode_ms);
  return times;
}

// A plain step reads the weights once and the cache of everything before it: here, of the answer's
// middle.
double plain_step_bytes(const SequenceStats& stats, const RunnerInfo& info) {
  const double context = stats.prompt_tokens + stats.completion_tokens / 2.0;
  return static_cast<double>(info.step_weight_bytes) +
         context * static_cast<double>(info.step_cache_bytes_per_token);
}

nlohmann::ordered_json describe(const BenchArm& arm, const Case& of, double read_gb_per_second,
                                const Bench& bench) {
  const BenchDecodeOptions& options = bench.options;
  const RunnerInfo& info = bench.session.runner->info();
  const Answer& answer = median_answer(arm.answers);
  const SequenceStats& stats = answer.finish.stats;
  const double step_bytes = plain_step_bytes(stats, info);
  const double floor = read_gb_per_second * 1e9 / step_bytes;
  return {{"bench", "decode"},
          {"commit", options.commit},
          {"processor", processor_name()},
          {"device", info.device},
          {"workload", of.workload},
          {"source", arm.draft.source},
          {"depth", arm.draft.depth},
          {"replay_errors", arm.draft.source == kReplay ? options.replay_errors : 0},
          {"temperature", of.temperature},
          {"seed", options.seed},
          {"max_tokens", options.max_tokens},
          {"runs", arm.answers.size()},
          {"prompt_tokens", stats.prompt_tokens},
          {"completion_tokens", stats.completion_tokens},
          {"tokens_hash", std::to_string(hash_tokens(answer.tokens))},
          {"decode_tokens_per_second", decode_tokens_per_second(stats)},
          {"decode_ms_of_runs", decode_times(arm.answers)},
          {"prefill_tokens_per_second", prefill_tokens_per_second(stats)},
          {"tokens_per_step", tokens_per_step(stats)},
          {"steps", stats.steps},
          {"drafted", stats.drafted},
          {"accepted", stats.accepted},
          {"accepted_by_source", accepted_by_source(*arm.drafting.chooser, stats)},
          {"drafted_by_position", stats.drafted_by_position},
          {"accepted_by_position", stats.accepted_by_position},
          {"decode_ms", stats.decode_ms},
          {"draft_ms", stats.draft_ms},
          {"verify_ms", stats.verify_ms},
          {"read_gb_per_second", read_gb_per_second},
          {"plain_step_bytes", step_bytes},
          {"plain_floor_tokens_per_second", floor},
          {"share_of_plain_floor", decode_tokens_per_second(stats) / floor}};
}

void print_row(const BenchArm& arm, const Case& of, double plain_speed) {
  const SequenceStats& stats = median_answer(arm.answers).finish.stats;
  const std::string source =
      arm.draft.source + (arm.draft.depth > 0 ? " " + std::to_string(arm.draft.depth) : "");
  const double speed = decode_tokens_per_second(stats);
  std::fprintf(stderr, "%-24s %4g  %-8s %8.0f %6.2f x %8.2f %10d of %d\n", of.workload.c_str(),
               of.temperature, source.c_str(), speed, plain_speed > 0 ? speed / plain_speed : 0,
               tokens_per_step(stats), stats.accepted, stats.drafted);
}

Drafting make_arm_drafting(const DraftOptions& draft, const BenchArm& first, const Case& of,
                           const Bench& bench) {
  Runner& runner = *bench.session.runner;
  if (draft.source != kReplay) return make_drafting(draft, runner, bench.cost);
  return make_replay(draft.depth, static_cast<int32_t>(of.request.prompt.size()),
                     first.answers.front().tokens,
                     {.error_rate = bench.options.replay_errors,
                      .seed = bench.options.seed,
                      .vocab_size = runner.info().vocab_size});
}

// Whether some source runs the draft head. Throws where one does not exist, or replays nothing.
bool check_drafts(const BenchDecodeOptions& options, Runner& runner) {
  if (options.drafts.front().source == kReplay) {
    throw Error(
        ErrorCode::kInvalidArgument,
        "--draft: found replay first, wanted another source before it, whose tokens it replays");
  }
  bool runs_draft_head = false;
  for (const DraftOptions& draft : options.drafts) {
    if (draft.source == kReplay) continue;
    runs_draft_head |= make_drafting(draft, runner).runs_draft_head;
  }
  return runs_draft_head;
}

// Nothing when it was interrupted; otherwise whether all tokens were the same.
std::optional<bool> run_case(const Case& of, const Bench& bench) {
  std::vector<BenchArm> arms;
  std::vector<double> read_rates;
  for (const DraftOptions& draft : bench.options.drafts) arms.push_back({.draft = draft});
  for (int32_t run = 0; run < bench.options.n_runs; ++run) {
    read_rates.push_back(bench.read_ceiling.measure());
    for (BenchArm& arm : arms) {
      if (run == 0)  // not before: a replay needs the first arm's answer
        arm.drafting = make_arm_drafting(arm.draft, arms.front(), of, bench);
      arm.answers.push_back(answer(bench.session, arm.drafting, of.request, /*is_streamed=*/false));
      if (is_interrupted()) return std::nullopt;
    }
  }
  const double first_speed =
      decode_tokens_per_second(median_answer(arms.front().answers).finish.stats);
  for (const BenchArm& arm : arms) {
    print_row(arm, of, first_speed);
    std::printf("%s\n", to_text(describe(arm, of, median(read_rates), bench)).c_str());
  }
  flush_stdout();
  const std::vector<TokenId>& wanted = arms.front().answers.front().tokens;
  const bool is_same = std::ranges::all_of(
      arms, [&](const BenchArm& arm) { return maybe_other(arm.answers, wanted) == nullptr; });
  if (!is_same)
    std::fprintf(stderr, "DIFFERENT: the runs above did not all give the same tokens\n");
  return is_same;
}

}  // namespace

DraftOptions parse_draft(const std::string& text) {
  const size_t colon = text.find(':');
  DraftOptions options{.source = text.substr(0, colon)};
  if (colon == std::string::npos) return options;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, options.depth);
  if (options.source == "none" || error != std::errc() || rest != end || options.depth < 1 ||
      options.depth > kDraftTokensMax) {
    throw Error(ErrorCode::kInvalidArgument, "--draft: found " + quote(text) +
                                                 ", wanted a source, or a source and its depth "
                                                 "from 1 to " +
                                                 std::to_string(kDraftTokensMax) + ", like mtp:2");
  }
  return options;
}

std::vector<fs::path> find_prompts(std::span<const std::string> paths) {
  std::vector<fs::path> prompts;
  for (const fs::path path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      throw Error(ErrorCode::kNotFound,
                  path.string() + ": " + (error ? error.message() : "is not there"));
    }
    if (!fs::is_directory(path)) {
      prompts.push_back(path);
      continue;
    }
    std::vector<fs::path> found;
    const fs::directory_iterator entries(path, error);
    if (error) throw Error(ErrorCode::kNotFound, path.string() + ": " + error.message());
    for (const fs::directory_entry& entry : entries) {
      const fs::path extension = entry.path().extension();
      const bool is_prompt =
          (extension == ".md" || extension == ".txt") && entry.path().filename() != "README.md";
      if (is_prompt) found.push_back(entry.path());
    }
    std::ranges::sort(found);
    prompts.insert(prompts.end(), found.begin(), found.end());
  }
  if (prompts.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--prompts: found no file that ends in .md or .txt, wanted at least one");
  }
  return prompts;
}

int run_bench_decode(const BenchDecodeOptions& options) {
  const std::vector<fs::path> prompts = find_prompts(options.prompts);
  const ModelSession session = load_session(options.model);
  // A prompt that will not do should not show after an hour.
  std::vector<Case> cases;
  for (const fs::path& prompt : prompts) {
    GenerateRequest request = make_request(session, prompt, options);
    for (const double temperature : options.temperatures) {
      request.sampling.shape.temperature = static_cast<float>(temperature);
      cases.push_back(
          {.workload = prompt.stem().string(), .temperature = temperature, .request = request});
    }
  }
  if (check_drafts(options, *session.runner)) warn_of_draft_head(session);
  std::fprintf(stderr, "%-24s %4s  %-8s %8s %8s %8s %10s\n", "workload", "temp", "draft",
               "tokens/s", "", "tok/step", "accepted");
  const CostSurface cost = find_cost(session.file, *session.runner);
  ReadCeiling read_ceiling(options.model.n_threads);
  const Bench bench{
      .session = session, .options = options, .cost = cost, .read_ceiling = read_ceiling};
  bool are_same = true;
  for (const Case& of : cases) {
    const std::optional<bool> is_same = run_case(of, bench);
    if (!is_same) return kExitInterrupted;
    are_same &= *is_same;
  }
  return are_same ? 0 : 1;
}

}  // namespace slip
