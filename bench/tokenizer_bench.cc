// Megabytes of one file that a core encodes per second. One JSON line on stdout; what it means
// stands in docs/benchmarking.md.
#include "text/tokenizer.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <time.h>

#include "base/error.h"
#include "base/hash.h"
#include "io/json_file.h"

namespace slip::bench {
namespace {

struct BenchOptions {
  std::string tokenizer;
  std::string text;
  int32_t n_runs = 5;
  std::string commit = "unknown";
};

// Of this thread: other programs do not count.
double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void run(const BenchOptions& options) {
  const double loading = processor_seconds();
  const Tokenizer tokenizer =
      Tokenizer::parse(read_text_file(options.tokenizer), options.tokenizer);
  const double load_seconds = processor_seconds() - loading;
  const std::string text = read_text_file(options.text);
  std::vector<TokenId> ids;
  std::vector<double> rates;
  for (int32_t i = 0; i < options.n_runs; ++i) {
    const double start = processor_seconds();
    ids = tokenizer.encode(text, AddedTokens::kMatch);
    rates.push_back(static_cast<double>(text.size()) / 1e6 / (processor_seconds() - start));
  }
  std::sort(rates.begin(), rates.end());
  const nlohmann::ordered_json line = {{"bench", "tokenizer"},
                                       {"commit", options.commit},
                                       {"tokenizer", options.tokenizer},
                                       {"text", options.text},
                                       {"bytes", text.size()},
                                       {"tokens", ids.size()},
                                       {"tokens_hash", hash_tokens(ids)},
                                       {"runs", rates.size()},
                                       {"mb_per_second", rates[rates.size() / 2]},
                                       {"mb_per_second_best", rates.back()},
                                       {"load_seconds", load_seconds}};
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace
}  // namespace slip::bench

int main(int argc, char** argv) {
  slip::bench::BenchOptions options;
  CLI::App app("Megabytes per second of encoding a file", "tokenizer_bench");
  app.add_option("--tokenizer", options.tokenizer, "tokenizer.json")->required();
  app.add_option("--text", options.text, "File to encode")->required();
  app.add_option("--runs", options.n_runs, "Runs")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--commit", options.commit, "Recorded with the result");
  CLI11_PARSE(app, argc, argv);
  try {
    slip::bench::run(options);
  } catch (const slip::Error& error) {
    std::fprintf(stderr, "tokenizer_bench: %s\n", error.what());
    return 1;
  }
  return 0;
}
