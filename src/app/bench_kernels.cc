#include "app/bench_kernels.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "app/backends.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/read_ceiling.h"
#include "app/standard_output.h"
#include "app/stopwatch.h"
#include "app/tuned_cost.h"
#include "base/error.h"
#include "base/json.h"
#include "base/median.h"

namespace slip {

namespace {

constexpr int kRoundsMin = 3;

// Of one number of rows.
struct Arm {
  int32_t n_rows;
  std::vector<double> ms;
  std::vector<double> flops_per_second;  // of the matrix unit: the slower of before and after a run
};

struct Measurement {
  std::vector<Arm> arms;
  std::vector<size_t> turns;  // indices of arms in the order of a round
  std::vector<double> read_gb_per_second;
};

void run_once(const cpu::KernelBench& bench, int32_t n_rows) {
  bench.prepare(n_rows);
  bench.run(n_rows);
}

// Every round begins with another arm. False where it was interrupted.
bool measure_round(const cpu::KernelBench& bench, ReadCeiling& ceiling, Measurement& m) {
  m.read_gb_per_second.push_back(ceiling.measure());
  std::rotate(m.turns.begin(), m.turns.begin() + 1, m.turns.end());
  run_once(bench, m.arms.front().n_rows);  // a gigabyte of other data has left code and tables cold
  for (const size_t turn : m.turns) {
    Arm& arm = m.arms[turn];
    if (is_interrupted()) return false;
    bench.prepare(arm.n_rows);
    const double before = bench.measure_flops();
    const Stopwatch watch;
    bench.run(arm.n_rows);
    arm.ms.push_back(watch.ms());
    arm.flops_per_second.push_back(std::min(before, bench.measure_flops()));
  }
  return true;
}

struct Row {
  double ms, ms_min, bytes, flops, read_gb_per_second, flops_per_second, floor_ms;
};

Row summarise(const cpu::KernelBench& bench, const Measurement& m, const Arm& arm) {
  Row row{.ms = median(arm.ms),
          .ms_min = *std::ranges::min_element(arm.ms),
          .bytes = bench.bytes(arm.n_rows),
          .flops = bench.flops(arm.n_rows),
          .read_gb_per_second = median(m.read_gb_per_second),
          .flops_per_second = median(arm.flops_per_second),
          .floor_ms = 0};
  row.floor_ms =
      1e3 * std::max(row.bytes / (row.read_gb_per_second * 1e9), row.flops / row.flops_per_second);
  return row;
}

void print_json(const cpu::KernelBench& bench, const Measurement& m,
                const BenchKernelOptions& options, const nlohmann::ordered_json& what) {
  for (const Arm& arm : m.arms) {
    const Row row = summarise(bench, m, arm);
    nlohmann::ordered_json line = what;
    line.update({{"commit", options.commit},
                 {"processor", processor_name()},
                 {"device", bench.device},
                 {"kernel", bench.kernel},
                 {"rows", arm.n_rows},
                 {"runs", arm.ms.size()},
                 {"ms_median", row.ms},
                 {"ms_min", row.ms_min},
                 {"bytes", row.bytes},
                 {"flops", row.flops},
                 {"read_gb_per_second", row.read_gb_per_second},
                 {"matrix_gflops", row.flops_per_second / 1e9},
                 {"matrix_gflops_min", *std::ranges::min_element(arm.flops_per_second) / 1e9},
                 {"floor_ms", row.floor_ms},
                 {"share_of_floor", row.floor_ms / row.ms}});
    std::printf("%s\n", to_text(line).c_str());
  }
}

void print_table(const cpu::KernelBench& bench, const Measurement& m) {
  std::printf("%s, kernel %s, reads %.1f GB/s\n\n", bench.device.c_str(), bench.kernel.c_str(),
              median(m.read_gb_per_second));
  std::printf("%5s %10s %10s %10s %8s %10s %14s\n", "rows", "ms", "least", "floor", "share",
              "x first", "matrix GFLOP/s");
  const double first = median(m.arms.front().ms);
  for (const Arm& arm : m.arms) {
    const Row row = summarise(bench, m, arm);
    std::printf("%5d %10.3f %10.3f %10.3f %7.0f%% %10.2f %14.0f\n", arm.n_rows, row.ms, row.ms_min,
                row.floor_ms, 100 * row.floor_ms / row.ms, row.ms / first,
                row.flops_per_second / 1e9);
  }
}

}  // namespace

int measure_kernel(const cpu::KernelBench& bench, const BenchKernelOptions& options,
                   const nlohmann::ordered_json& what) {
  require_cpu(options.device);
  for (const int32_t n_rows : options.rows) {
    if (n_rows <= bench.n_rows_max) continue;
    throw Error(ErrorCode::kInvalidArgument,
                "--rows: found " + std::to_string(n_rows) + ", wanted at most " +
                    std::to_string(bench.n_rows_max) +
                    " here: a step does not go on where attention splits the cache otherwise");
  }
  ReadCeiling ceiling(options.n_threads);
  Measurement m;
  for (const int32_t n_rows : options.rows) {
    m.turns.push_back(m.arms.size());
    m.arms.push_back({.n_rows = n_rows, .ms = {}, .flops_per_second = {}});
    run_once(bench, n_rows);  // pages and code are there before the first sample
  }
  const Stopwatch watch;
  for (int round = 0; round < kRoundsMin || watch.ms() < 1e3 * options.seconds; ++round) {
    if (!measure_round(bench, ceiling, m)) return kExitInterrupted;
  }
  if (options.is_json) {
    print_json(bench, m, options, what);
  } else {
    print_table(bench, m);
  }
  flush_stdout();
  return 0;
}

}  // namespace slip
