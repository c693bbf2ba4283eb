// How long the copy source's index takes to read a long context, and to look up a place in it. One
// JSON line on stdout; times are of this thread's processor time, so a busy machine does not count.

#include "draft/suffix_index.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/rng.h"

namespace slip::bench {
namespace {

struct IndexOptions {
  int32_t n_tokens = 261120;
  int32_t vocab_size = 150000;
  double repeated = 0.5;  // share of text that repeats what stands 1000 tokens before
  int n_runs = 9;
};

double thread_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

// Spans of 64 tokens, each either new or a copy.
std::vector<TokenId> make_text(const IndexOptions& options) {
  constexpr int32_t kSpan = 64, kBack = 1000;
  std::vector<TokenId> tokens;
  for (int32_t i = 0; i < options.n_tokens; ++i) {
    const float span = uniform(1, static_cast<uint64_t>(i / kSpan), Draw::kTest);
    if (i >= kBack && span < static_cast<float>(options.repeated)) {
      tokens.push_back(tokens[static_cast<size_t>(i - kBack)]);
      continue;
    }
    const float u = uniform(2, static_cast<uint64_t>(i), Draw::kTest);
    tokens.push_back(TokenId{static_cast<int32_t>(u * static_cast<float>(options.vocab_size))});
  }
  return tokens;
}

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const IndexOptions& options) {
  constexpr int32_t kLast = 2000;  // tokens that come one at a time, each with a lookup
  const std::vector<TokenId> tokens = make_text(options);
  const auto text = std::span<const TokenId>(tokens);
  SuffixIndex index(options.n_tokens);
  std::vector<double> whole_ms, step_us;
  int32_t n_found = 0;
  for (int i = 0; i < options.n_runs; ++i) {
    index.clear();
    double begin = thread_ms();
    index.append(text);
    whole_ms.push_back(thread_ms() - begin);

    index.clear();
    index.append(text.first(text.size() - kLast));
    begin = thread_ms();
    for (size_t n = text.size() - kLast + 1; n <= text.size(); ++n) {
      index.append(text.first(n));
      n_found += index.find(text.first(n)).has_value();
    }
    step_us.push_back(1e3 * (thread_ms() - begin) / kLast);
  }
  const nlohmann::ordered_json line = {
      {"bench", "suffix_index"},
      {"tokens", options.n_tokens},
      {"bytes_per_token",
       static_cast<double>(SuffixIndex::bytes(options.n_tokens)) / options.n_tokens},
      {"index_ms", median_of(whole_ms)},
      {"index_ms_best", *std::ranges::min_element(whole_ms)},
      {"append_and_find_us", median_of(step_us)},
      {"found_share", static_cast<double>(n_found) / (options.n_runs * kLast)},
      {"runs", options.n_runs}};
  std::printf("%s\n", line.dump().c_str());
}

}  // namespace
}  // namespace slip::bench

int main(int argc, char** argv) {
  slip::bench::IndexOptions options;
  CLI::App app("Time of the copy source's index over a long context", "suffix_index_bench");
  app.add_option("--tokens", options.n_tokens, "Length of the text")
      ->check(CLI::Range(10000, 1 << 26))
      ->capture_default_str();
  app.add_option("--repeated", options.repeated, "Share of the text that repeats earlier text")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--runs", options.n_runs, "Runs")->check(CLI::Range(1, 1000));
  CLI11_PARSE(app, argc, argv);
  slip::bench::run(options);
  return 0;
}
