#include "backend/testing/contract_models.h"

#include <map>
#include <utility>

namespace slip::contract {
namespace {

// The same shapes with other weights: only their values tell the two models apart.
RandomModelOptions reseeded(RandomModelOptions options) {
  options.seed += 100;
  return options;
}

}  // namespace

RandomModelOptions grouped_model() {
  RandomModelOptions options;
  options.poison = TokenId{77};
  return options;
}

RandomModelOptions tied_model() {
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

RandomModelOptions experts_model() {
  RandomModelOptions options;
  options.seed = 3;
  options.layers = {RandomMixer::kDeltaNet, RandomMixer::kAttention};
  options.n_experts = 5;
  options.poison = TokenId{77};
  return options;
}

const ModelFile& file_of(const RandomModelOptions& model) {
  static std::map<std::pair<uint64_t, int32_t>, ModelFile> files;
  const std::pair key(model.seed, model.hidden_size);
  if (const auto found = files.find(key); found != files.end()) return found->second;
  const RandomModelFolder folder(model);
  return files.emplace(key, ModelFile::open(folder.path())).first->second;
}

ContractCase make_case(const std::string& name, const RandomModelOptions& model,
                       const LoadRunner& load) {
  const auto of = [load](const RandomModelOptions& random) {
    return [=](const RunnerOptions& options) { return load(file_of(random), options); };
  };
  return {.name = name,
          .make = of(model),
          .make_other = of(reseeded(model)),
          .poison = model.poison,
          .why_skipped = {}};
}

}  // namespace slip::contract
