#include "app/bench_format.h"

#include <algorithm>
#include <iterator>

#include "base/json.h"

namespace slip {

namespace {

struct BenchFormat {
  const char* name;
  WeightFormat format;
};
constexpr BenchFormat kBenchFormats[] = {{"q8", WeightFormat::kAffine8},
                                         {"q4", WeightFormat::kAffine4},
                                         {"bf16", WeightFormat::kBF16},
                                         {"fp8", WeightFormat::kFp8Block}};

}  // namespace

std::optional<WeightFormat> parse_bench_format(const std::string& name) {
  const auto* found = std::ranges::find(kBenchFormats, name, &BenchFormat::name);
  return found == std::end(kBenchFormats) ? std::nullopt : std::optional(found->format);
}

CLI::Validator bench_format() {
  return CLI::Validator(
      [](std::string& text) {
        return parse_bench_format(text) ? ""
                                        : "found " + quote(text) + ", wanted q8, q4, bf16 or fp8";
      },
      "");
}

}  // namespace slip
