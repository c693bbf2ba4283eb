#include "backend/testing/random_model.h"

#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <limits>
#include <string>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/rng.h"
#include "io/safetensors.h"
#include "tensor/dtype.h"

namespace slip {
namespace {

constexpr float kLogitDeviation = 3.0f;
// Below 1, so that a layer adjusts the stream instead of replacing it and small differences survive
// to the logits.
constexpr float kProjectionGain = 0.8f;
constexpr float kNormDeviation = 0.1f;

class ModelWriter {
 public:
  explicit ModelWriter(const RandomModelOptions& options) : options_(options) {}

  void add_trunk();
  void add_draft_head();
  void write(const std::filesystem::path& path) const { write_safetensors(path, tensors_); }

 private:
  // Element i is value(i, z) with z a standard normal.
  template <class Value>
  void add(const std::string& name, std::vector<int64_t> shape, Value value);
  void add_gaussian(const std::string& name, std::vector<int64_t> shape, float mean,
                    float deviation);
  void add_matrix(const std::string& name, int32_t n_out, int32_t n_in) {
    add_matrices(name, {n_out, n_in});
  }
  void add_matrices(const std::string& name, std::vector<int64_t> shape);
  void add_norm(const std::string& name, int32_t size) {
    add_gaussian(name, {size}, 0.0f, kNormDeviation);
  }
  void add_vocabulary(const std::string& name, float poison);
  void add_layer(const std::string& prefix, RandomMixer mixer);
  void add_attention(const std::string& prefix);
  void add_ffn(const std::string& prefix, int32_t intermediate_size);
  void add_experts(const std::string& prefix);
  void add_delta_net(const std::string& prefix);

  const RandomModelOptions& options_;
  std::deque<std::vector<BFloat16>> values_;  // a deque: views into its elements stay valid
  std::vector<NamedTensor> tensors_;
};

template <class Value>
void ModelWriter::add(const std::string& name, std::vector<int64_t> shape, Value value) {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  // Tensors lie side by side in the positions of the generator.
  const uint64_t first = static_cast<uint64_t>(tensors_.size()) << 32;
  std::vector<BFloat16>& values = values_.emplace_back();
  values.reserve(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) {
    const float z = normal(options_.seed, first + static_cast<uint64_t>(i), Draw::kWeight);
    values.push_back(to_bfloat16(value(i, z)));
  }
  tensors_.push_back({.name = name,
                      .tensor = {.dtype = DType::kBF16,
                                 .shape = std::move(shape),
                                 .data = reinterpret_cast<const std::byte*>(values.data()),
                                 .n_bytes = values.size() * sizeof(BFloat16)}});
}

void ModelWriter::add_gaussian(const std::string& name, std::vector<int64_t> shape, float mean,
                               float deviation) {
  add(name, std::move(shape), [=](int64_t, float z) { return mean + deviation * z; });
}

void ModelWriter::add_matrices(const std::string& name, std::vector<int64_t> shape) {
  const float deviation = kProjectionGain / std::sqrt(static_cast<float>(shape.back()));
  add_gaussian(name, std::move(shape), 0.0f, deviation);
}

// The embedding or the head; the norm that follows makes the same amplitude right for both.
void ModelWriter::add_vocabulary(const std::string& name, float poison) {
  const int32_t width = options_.hidden_size;
  const float deviation = kLogitDeviation / std::sqrt(static_cast<float>(width));
  const int64_t poison_row = options_.poison ? static_cast<int64_t>(*options_.poison) : -1;
  add(name, {options_.vocab_size, width},
      [=](int64_t i, float z) { return i / width == poison_row ? poison : deviation * z; });
}

void ModelWriter::add_attention(const std::string& prefix) {
  const RandomModelOptions& o = options_;
  const int32_t q_width = o.n_heads * o.head_dim;
  const int32_t kv_width = o.n_kv_heads * o.head_dim;
  add_matrix(prefix + "q_proj.weight", 2 * q_width, o.hidden_size);  // query and gate
  add_matrix(prefix + "k_proj.weight", kv_width, o.hidden_size);
  add_matrix(prefix + "v_proj.weight", kv_width, o.hidden_size);
  add_matrix(prefix + "o_proj.weight", o.hidden_size, q_width);
  add_norm(prefix + "q_norm.weight", o.head_dim);
  add_norm(prefix + "k_norm.weight", o.head_dim);
}

void ModelWriter::add_delta_net(const std::string& prefix) {
  const RandomModelOptions& o = options_;
  const int32_t value_width = o.n_value_heads * o.value_dim;
  const int32_t channels = 2 * o.n_key_heads * o.key_dim + value_width;
  add_matrix(prefix + "in_proj_qkv.weight", channels, o.hidden_size);
  add_matrix(prefix + "in_proj_z.weight", value_width, o.hidden_size);
  add_matrix(prefix + "in_proj_b.weight", o.n_value_heads, o.hidden_size);
  add_matrix(prefix + "in_proj_a.weight", o.n_value_heads, o.hidden_size);
  add_gaussian(prefix + "conv1d.weight", {channels, 1, o.conv_kernel}, 0.0f, 0.5f);
  // Decays exp(-exp(A_log) * softplus(..)) from about 0.99 to 0.5: a wrong state stays visible for
  // many tokens.
  add_gaussian(prefix + "A_log", {o.n_value_heads}, -2.5f, 1.0f);
  add_gaussian(prefix + "dt_bias", {o.n_value_heads}, 0.0f, 0.5f);
  add_gaussian(prefix + "norm.weight", {o.value_dim}, 1.0f, kNormDeviation);
  add_matrix(prefix + "out_proj.weight", o.hidden_size, value_width);
}

void ModelWriter::add_layer(const std::string& prefix, RandomMixer mixer) {
  const RandomModelOptions& o = options_;
  add_norm(prefix + "input_layernorm.weight", o.hidden_size);
  if (mixer == RandomMixer::kAttention) {
    add_attention(prefix + "self_attn.");
  } else {
    add_delta_net(prefix + "linear_attn.");
  }
  add_norm(prefix + "post_attention_layernorm.weight", o.hidden_size);
  if (o.n_experts > 0) {
    add_experts(prefix + "mlp.");
  } else {
    add_ffn(prefix + "mlp.", o.intermediate_size);
  }
}

void ModelWriter::add_ffn(const std::string& prefix, int32_t intermediate_size) {
  add_matrix(prefix + "gate_proj.weight", intermediate_size, options_.hidden_size);
  add_matrix(prefix + "up_proj.weight", intermediate_size, options_.hidden_size);
  add_matrix(prefix + "down_proj.weight", options_.hidden_size, intermediate_size);
}

void ModelWriter::add_experts(const std::string& prefix) {
  const RandomModelOptions& o = options_;
  add_matrix(prefix + "gate.weight", o.n_experts, o.hidden_size);
  add_matrices(prefix + "experts.gate_up_proj",
               {o.n_experts, 2 * o.moe_intermediate_size, o.hidden_size});
  add_matrices(prefix + "experts.down_proj", {o.n_experts, o.hidden_size, o.moe_intermediate_size});
  add_ffn(prefix + "shared_expert.", o.moe_intermediate_size);
  add_matrix(prefix + "shared_expert_gate.weight", 1, o.hidden_size);
}

void ModelWriter::add_trunk() {
  const std::string prefix = "model.language_model.";
  add_vocabulary(prefix + "embed_tokens.weight", std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < options_.layers.size(); ++i) {
    add_layer(prefix + "layers." + std::to_string(i) + ".", options_.layers[i]);
  }
  add_norm(prefix + "norm.weight", options_.hidden_size);
  if (!options_.tie_word_embeddings) add_vocabulary("lm_head.weight", 0.0f);
}

void ModelWriter::add_draft_head() {
  add_matrix("mtp.fc.weight", options_.hidden_size, 2 * options_.hidden_size);
  add_norm("mtp.pre_fc_norm_embedding.weight", options_.hidden_size);
  add_norm("mtp.pre_fc_norm_hidden.weight", options_.hidden_size);
  add_layer("mtp.layers.0.", RandomMixer::kAttention);
  add_norm("mtp.norm.weight", options_.hidden_size);
}

nlohmann::json make_config(const RandomModelOptions& o) {
  nlohmann::json layer_types = nlohmann::json::array();
  for (const RandomMixer mixer : o.layers) {
    layer_types.push_back(mixer == RandomMixer::kAttention ? "full_attention" : "linear_attention");
  }
  const nlohmann::json rope = {
      {"rope_type", "default"}, {"rope_theta", 10000.0}, {"partial_rotary_factor", 0.25}};
  const bool has_experts = o.n_experts > 0;
  const std::string model_type = has_experts ? "qwen3_5_moe" : "qwen3_5";
  const std::string model_class = has_experts ? "Qwen3_5Moe" : "Qwen3_5";
  nlohmann::json text = {{"model_type", model_type + "_text"},
                         {"vocab_size", o.vocab_size},
                         {"hidden_size", o.hidden_size},
                         {"intermediate_size", o.intermediate_size},
                         {"num_hidden_layers", o.layers.size()},
                         {"num_attention_heads", o.n_heads},
                         {"num_key_value_heads", o.n_kv_heads},
                         {"head_dim", o.head_dim},
                         {"hidden_act", "silu"},
                         {"max_position_embeddings", o.context_tokens_max},
                         {"rms_norm_eps", 1e-6},
                         {"tie_word_embeddings", o.tie_word_embeddings},
                         {"attention_bias", false},
                         {"attn_output_gate", true},
                         {"rope_parameters", rope},
                         {"layer_types", layer_types},
                         {"linear_conv_kernel_dim", o.conv_kernel},
                         {"linear_key_head_dim", o.key_dim},
                         {"linear_value_head_dim", o.value_dim},
                         {"linear_num_key_heads", o.n_key_heads},
                         {"linear_num_value_heads", o.n_value_heads},
                         {"mamba_ssm_dtype", "float32"},
                         {"mtp_num_hidden_layers", o.has_draft_head ? 1 : 0},
                         {"mtp_use_dedicated_embeddings", false}};
  if (has_experts) {
    text["num_experts"] = o.n_experts;
    text["num_experts_per_tok"] = o.n_experts_per_token;
    text["moe_intermediate_size"] = o.moe_intermediate_size;
    text["shared_expert_intermediate_size"] = o.moe_intermediate_size;
  }
  return {{"architectures", {model_class + "ForConditionalGeneration"}},
          {"model_type", model_type},
          {"tie_word_embeddings", o.tie_word_embeddings},
          {"language_model_only", true},
          {"text_config", text}};
}

std::filesystem::path make_temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "slip_random_model_XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::kInvalidArgument, name + ": cannot make a temporary folder");
  }
  return name;
}

}  // namespace

void write_random_model(const RandomModelOptions& options, const std::filesystem::path& folder) {
  SLIP_CHECK(!(options.poison && options.tie_word_embeddings));
  ModelWriter writer(options);
  writer.add_trunk();
  if (options.has_draft_head) writer.add_draft_head();
  writer.write(folder / "model.safetensors");
  std::ofstream(folder / "config.json") << make_config(options).dump(2) << '\n';
}

RandomModelFolder::RandomModelFolder(const RandomModelOptions& options)
    : path_(make_temporary_folder()) {
  write_random_model(options, path_);
}

RandomModelFolder::~RandomModelFolder() {
  std::error_code ignored;  // a folder that somebody else removed is gone as well
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace slip
