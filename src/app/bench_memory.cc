// slipstream bench memory: what is planned at load, what is resident at several contexts, and what
// verify steps take on top, beside a knock-out that copies the cache before every step. Passes only
// where steps take no more at a long context than at a short one, and the copies are seen.

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <malloc.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/memory_growth.h"
#include "app/memory_purpose.h"
#include "app/model_session.h"
#include "app/standard_output.h"
#include "app/tuned_cost.h"
#include "backend/split_rule.h"
#include "backend/stepped_state.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/process_memory.h"
#include "base/thread_pool.h"

namespace slip {

namespace {

constexpr int kRuns = 5;                      // of each kind of step, rows and context
constexpr double kShares[] = {0.25, 0.5, 1};  // of the longest context

// Large allocations get pages of their own and give them back when they are freed, so that each
// shows in what is resident. By default the heap grows instead once one was freed, and later ones
// lie where the process has pages already.
void show_allocations() {
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  malloc_trim(0);
}

// Error of a measurement: Linux counts the pages of a process on every core and sums up once a core
// has max(32, 2 cores) of them, so two readings may be off by that for each thread. A mebibyte on
// top for what the program does beside the step, stacks of woken threads for one.
int64_t tolerance_bytes(int32_t n_threads) {
  const int64_t n_pages = std::max<int64_t>(32, 2 * sysconf(_SC_NPROCESSORS_CONF));
  return (int64_t{1} << 20) + 2 * n_threads * n_pages * sysconf(_SC_PAGESIZE);
}

// What `action` takes and gives back. What stays is not counted: pages of the cache, planned at
// load, that its rows were the first to touch, two mebibytes at a time with huge pages.
template <class Action>
int64_t transient_bytes(Action action) {
  const int64_t before = resident_bytes();
  reset_peak_resident();
  action();
  const int64_t peak = peak_resident_bytes();
  return std::max<int64_t>(0, peak - std::max(before, resident_bytes()));
}

// Contexts to measure at, and the room that their steps need.
struct MemoryPlan {
  std::vector<int32_t> contexts;
  int64_t cache_growth_bytes;
};

MemoryPlan plan_contexts(const RunnerInfo& info, size_t n_row_counts, int64_t tolerance) {
  // A step moves on by one token, and to the next split where its rows do not fit in this one.
  const auto n_steps = static_cast<int32_t>(n_row_counts) * (2 * kRuns + 1);
  const int32_t n_room = n_steps + 2 * kSegmentRowsMax * (1 + n_steps / kCacheBlockTokens);
  const int32_t longest = info.context_tokens_max - n_room;
  MemoryPlan plan{};
  for (const double share : kShares) plan.contexts.push_back(static_cast<int32_t>(share * longest));
  plan.cache_growth_bytes =
      info.step_cache_bytes_per_token * (plan.contexts.back() - plan.contexts.front());
  constexpr int kTimesTolerance = 4;
  if (longest > 0 && plan.cache_growth_bytes >= kTimesTolerance * tolerance) return plan;
  const double grown_share = kShares[2] - kShares[0];
  const auto least =
      static_cast<int64_t>(static_cast<double>(kTimesTolerance * tolerance) /
                           (grown_share * static_cast<double>(info.step_cache_bytes_per_token)));
  throw Error(ErrorCode::kInvalidArgument,
              "--context: found " + std::to_string(info.context_tokens_max) + ", wanted at least " +
                  std::to_string(least + n_room + 2) +
                  ": copies of a smaller cache could not be told from none");
}

// Largest transients of steps behind the context, with the copy and without in turns.
MemorySample measure_steps(Runner& runner, SteppedState& state, int32_t n_rows) {
  MemorySample sample{.context_tokens = state.position(), .n_rows = n_rows};
  const auto prepare = [&] {
    if (state.rows_in_split() < n_rows) state.read_to(state.position() + state.rows_in_split());
  };
  prepare();
  state.verify(n_rows);  // touches what nobody has touched before
  sample.resident_bytes = resident_bytes();
  for (int run = 0; run < kRuns; ++run) {
    prepare();
    const int64_t step = transient_bytes([&] { state.verify(n_rows); });
    prepare();
    const int64_t knock_out = transient_bytes([&] {
      const std::vector<std::byte> copy = runner.save(state.id());
      state.verify(n_rows);
    });
    sample.transient_bytes = std::max(sample.transient_bytes, step);
    sample.knock_out_bytes = std::max(sample.knock_out_bytes, knock_out);
  }
  return sample;
}

// Nothing when the user interrupts.
std::optional<std::vector<MemorySample>> measure_memory(Runner& runner, const MemoryPlan& plan,
                                                        std::span<const int32_t> rows) {
  SteppedState state(runner, runner.open({}).value());
  SLIP_CHECK(runner.reserve(state.id(), runner.info().context_tokens_max));
  std::vector<MemorySample> samples;
  for (const int32_t context : plan.contexts) {
    state.read_to(context, is_interrupted);
    for (const int32_t n_rows : rows) {
      if (is_interrupted()) return std::nullopt;
      samples.push_back(measure_steps(runner, state, n_rows));
      samples.back().context_tokens = context;
    }
  }
  return samples;
}

void print_json(const BenchMemoryOptions& options, const RunnerInfo& info, int64_t loaded_bytes,
                std::span<const MemorySample> samples) {
  for (const MemorySample& sample : samples) {
    const nlohmann::ordered_json line = {{"bench", "memory"},
                                         {"commit", options.commit},
                                         {"processor", processor_name()},
                                         {"device", info.device},
                                         {"kv_type", options.model.kv_type},
                                         {"context", sample.context_tokens},
                                         {"capacity", info.context_tokens_max},
                                         {"rows", sample.n_rows},
                                         {"runs", kRuns},
                                         {"weight_bytes", info.weight_bytes},
                                         {"packed_weight_bytes", info.packed_weight_bytes},
                                         {"workspace_bytes", info.workspace_bytes},
                                         {"state_bytes", info.state_bytes},
                                         {"cache_bytes_per_token", info.cache_bytes_per_token},
                                         {"cache_bytes", info.cache_bytes},
                                         {"loaded_bytes", loaded_bytes},
                                         {"resident_bytes", sample.resident_bytes},
                                         {"transient_bytes", sample.transient_bytes},
                                         {"knock_out_transient_bytes", sample.knock_out_bytes}};
    std::printf("%s\n", to_text(line).c_str());
  }
}

double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

void print_table(const RunnerInfo& info, int64_t loaded_bytes,
                 std::span<const MemorySample> samples) {
  std::printf(
      "%s, MiB\n\nweights %.1f, again in the kernels' order %.1f, workspace %.1f, a state "
      "%.1f, cache %.1f for %d tokens; resident after loading %.1f\n\n",
      info.device.c_str(), mib(info.weight_bytes), mib(info.packed_weight_bytes),
      mib(info.workspace_bytes), mib(info.state_bytes), mib(info.cache_bytes),
      info.context_tokens_max, mib(loaded_bytes));
  std::printf("%8s %5s %10s %12s %26s\n", "context", "rows", "resident", "step on top",
              "knock-out: copy and step");
  for (const MemorySample& sample : samples) {
    std::printf("%8d %5d %10.1f %12.2f %26.2f\n", sample.context_tokens, sample.n_rows,
                mib(sample.resident_bytes), mib(sample.transient_bytes),
                mib(sample.knock_out_bytes));
  }
}

// The exit status; says on standard error what is wrong.
int report(std::span<const MemorySample> samples, const MemoryLimits& limits) {
  switch (judge(samples, limits)) {
    case MemoryVerdict::kSteady:
      return 0;
    case MemoryVerdict::kGrows:
      std::fprintf(stderr,
                   "GROWS: steps take %.2f MiB more at a longer context, wanted at most "
                   "%.2f\n",
                   mib(growth(samples, &MemorySample::transient_bytes)),
                   mib(limits.tolerance_bytes));
      return 1;
    case MemoryVerdict::kBlind:
      std::fprintf(stderr,
                   "BLIND: copies of the cache grew by %.2f MiB, wanted about %.2f: nothing "
                   "is shown\n",
                   mib(growth(samples, &MemorySample::knock_out_bytes)),
                   mib(limits.cache_growth_bytes));
      return 1;
  }
  SLIP_CHECK(false);
}

}  // namespace

int run_bench_memory(const BenchMemoryOptions& options) {
  show_allocations();
  const ModelFile file = ModelFile::open(options.model.model);
  const std::unique_ptr<Runner> runner = with_memory_for(
      "running " + file.folder().string(), [&] { return load_runner(file, options.model); });
  const int64_t loaded_bytes = resident_bytes();
  const int64_t tolerance =
      tolerance_bytes(options.model.n_threads > 0 ? options.model.n_threads : usable_cores());
  const MemoryPlan plan = plan_contexts(runner->info(), options.rows.size(), tolerance);
  const auto samples = measure_memory(*runner, plan, options.rows);
  if (!samples) return kExitInterrupted;
  if (options.is_json) {
    print_json(options, runner->info(), loaded_bytes, *samples);
  } else {
    print_table(runner->info(), loaded_bytes, *samples);
  }
  flush_stdout();
  return report(*samples,
                {.tolerance_bytes = tolerance, .cache_growth_bytes = plan.cache_growth_bytes});
}

}  // namespace slip
