// A small random model in the files that a real one comes in, so that tests load it by the same
// road. Values are a pure function of the seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace slip {

enum class RandomMixer : uint8_t { kAttention, kDeltaNet };

// A `qwen3_5` model, with experts a `qwen3_5_moe` one. The sizes keep the spelling of config.json.
struct RandomModelOptions {
  uint64_t seed = 1;
  int32_t vocab_size = 128;
  int32_t hidden_size = 64;
  int32_t intermediate_size = 96;
  std::vector<RandomMixer> layers = {RandomMixer::kDeltaNet, RandomMixer::kDeltaNet,
                                     RandomMixer::kDeltaNet, RandomMixer::kAttention};
  int32_t n_heads = 4;
  int32_t n_kv_heads = 2;  // divides n_heads
  int32_t head_dim = 32;   // a quarter of it is rotated
  int32_t n_key_heads = 2;
  int32_t n_value_heads = 4;  // a multiple of n_key_heads
  int32_t key_dim = 32;
  int32_t value_dim = 32;
  int32_t conv_kernel = 4;
  int32_t n_experts = 0;  // 0: dense layers
  int32_t n_experts_per_token = 2;
  int32_t moe_intermediate_size = 32;  // of a routed expert and of the shared one
  int32_t context_tokens_max = 32768;
  bool tie_word_embeddings = false;
  bool has_draft_head = true;

  // A token whose embedding is NaN: every row that runs it is not finite. Its row of the head is
  // zero, so that no row chooses it. Needs untied embeddings.
  std::optional<TokenId> poison;
};

// Writes config.json and model.safetensors (BF16, Hugging Face names, norm weights zero-centred as
// published) into `folder`, which exists. Logits come out with a deviation of about 3, so that no
// two are often close. Throws as write_safetensors does.
void write_random_model(const RandomModelOptions& options, const std::filesystem::path& folder);

// Such a model in a fresh temporary folder, removed with this object. Files mapped meanwhile stay
// readable.
class RandomModelFolder {
 public:
  explicit RandomModelFolder(const RandomModelOptions& options);
  ~RandomModelFolder();
  RandomModelFolder(const RandomModelFolder&) = delete;
  RandomModelFolder& operator=(const RandomModelFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace slip
