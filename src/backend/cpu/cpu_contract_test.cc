// The CPU backend passes the contract, with every table of kernels that this machine can run and
// with the definitions.
#include <array>
#include <map>
#include <string>
#include <utility>

#include "backend/cpu/cpu_runner.h"
#include "backend/testing/random_model.h"
#include "backend/testing/runner_contract.h"

namespace slip::contract {
namespace {

// Grouped heads on both sides, three delta-net layers to one of attention, a token that is NaN.
RandomModelOptions grouped() {
  RandomModelOptions options;
  options.poison = TokenId{77};
  return options;
}

// One KV head for six query heads, more than one strip of value columns, attention first and last,
// a tied head.
RandomModelOptions tied() {
  RandomModelOptions options;
  options.seed = 2;
  options.hidden_size = 96;
  options.layers = {RandomMixer::kAttention, RandomMixer::kDeltaNet, RandomMixer::kAttention};
  options.n_heads = 6;
  options.n_kv_heads = 1;
  options.n_key_heads = 1;
  options.n_value_heads = 3;
  options.value_dim = 64;
  options.tie_word_embeddings = true;
  return options;
}

// Two of five experts and a shared one in every layer; a row that is NaN has to choose as well.
RandomModelOptions experts() {
  RandomModelOptions options;
  options.seed = 3;
  options.layers = {RandomMixer::kDeltaNet, RandomMixer::kAttention};
  options.n_experts = 5;
  options.poison = TokenId{77};
  return options;
}

// The same shapes with other weights: only their values tell the two models apart.
RandomModelOptions reseeded(RandomModelOptions options) {
  options.seed += 100;
  return options;
}

// Written and mapped when a test first asks; the files are gone at once, the mapping stays.
const ModelFile& file_of(const RandomModelOptions& options) {
  static std::map<std::pair<uint64_t, int32_t>, ModelFile> files;
  const std::pair key(options.seed, options.hidden_size);
  if (const auto found = files.find(key); found != files.end()) return found->second;
  const RandomModelFolder folder(options);
  return files.emplace(key, ModelFile::open(folder.path())).first->second;
}

ContractCase make_case(const std::string& name, const RandomModelOptions& model,
                       const std::string& kernels, DType kv_type = DType::kBF16) {
  const auto factory = [kernels, kv_type](const RandomModelOptions& random) {
    return [=](const RunnerOptions& options) {
      RunnerOptions forced = options;
      forced.kernels = kernels;
      forced.kv_type = kv_type;
      return cpu::load_runner(file_of(random), forced);
    };
  };
  return {.name = name,
          .make = factory(model),
          .make_other = factory(reseeded(model)),
          .poison = model.poison};
}

const std::array kCases = {make_case("grouped_best", grouped(), ""),
                           make_case("grouped_baseline", grouped(), "baseline"),
// The definitions are slow under sanitizers, and compared with the others elsewhere too.
#if !defined(SLIP_SANITIZED)
                           make_case("grouped_reference", grouped(), "reference"),
#endif
                           make_case("grouped_f32", grouped(), "", DType::kF32),
                           make_case("tied_f16", tied(), "", DType::kF16),
                           make_case("tied_best", tied(), ""),
                           make_case("tied_baseline", tied(), "baseline"),
                           make_case("experts_best", experts(), ""),
                           make_case("experts_baseline", experts(), "baseline")};

INSTANTIATE_TEST_SUITE_P(Cpu, RunnerContract, testing::ValuesIn(kCases), case_name);
INSTANTIATE_TEST_SUITE_P(Cpu, RunnerDraftContract, testing::ValuesIn(kCases), case_name);

}  // namespace
}  // namespace slip::contract
