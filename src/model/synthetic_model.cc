#include "model/synthetic_model.h"

#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "model/synthetic_weight.h"

namespace slip {

namespace {

// How the matrices of a format are stored.
struct Formats {
  WeightFormat projection, embedding, router, gate;
};

Formats formats_of(WeightFormat format) {
  if (format == WeightFormat::kFp8Block)
    return {format, WeightFormat::kBF16, WeightFormat::kBF16, WeightFormat::kBF16};
  const bool is_affine = format == WeightFormat::kAffine4 || format == WeightFormat::kAffine8;
  return {format, format, is_affine ? WeightFormat::kAffine8 : format, format};
}

Vector ones(int32_t n) { return Vector(static_cast<size_t>(n), 1.0f); }

// Puts the parts of a model together; `make` turns the shape of a matrix into the matrix.
class ModelMaker {
 public:
  using MakeMatrix = std::function<WeightView(const WeightView& shape)>;
  ModelMaker(const SyntheticModelOptions& options, MakeMatrix make)
      : config_(options.config), formats_(formats_of(options.format)), make_(std::move(make)) {
    SLIP_CHECK(!config_.has_draft_head);
  }

  ModelWeights make_model() const {
    ModelWeights weights{
        .embedding = matrix(formats_.embedding, config_.vocab_size, config_.hidden_size),
        .norm = ones(config_.hidden_size)};
    weights.head = config_.tie_word_embeddings
                       ? weights.embedding
                       : matrix(formats_.embedding, config_.vocab_size, config_.hidden_size);
    for (const LayerConfig layer : config_.layers) weights.layers.push_back(make_layer(layer));
    return weights;
  }

 private:
  WeightView matrix(WeightFormat format, int32_t n_out, int32_t n_in) const {
    return make_(weight_shape(format, n_out, n_in));
  }
  WeightView projection(int32_t n_out, int32_t n_in) const {
    return matrix(formats_.projection, n_out, n_in);
  }

  LayerWeights make_layer(LayerConfig layer) const {
    LayerWeights weights{.input_norm = ones(config_.hidden_size),
                         .post_attention_norm = ones(config_.hidden_size)};
    if (layer.mixer == MixerKind::kAttention) {
      weights.attention = make_attention();
    } else {
      weights.delta_net = make_delta_net();
    }
    if (layer.ffn == FfnKind::kDense) {
      weights.ffn = make_ffn(config_.intermediate_size);
    } else {
      weights.experts = make_experts();
    }
    return weights;
  }

  AttentionWeights make_attention() const {
    const AttentionConfig& a = config_.attention;
    AttentionWeights weights{.q = projection(a.queries_width(), config_.hidden_size),
                             .k = projection(a.kv_width(), config_.hidden_size),
                             .v = projection(a.kv_width(), config_.hidden_size),
                             .out = projection(config_.hidden_size, a.q_width())};
    if (a.has_head_norms) weights.q_norm = weights.k_norm = ones(a.head_dim);
    return weights;
  }

  DeltaNetWeights make_delta_net() const {
    const DeltaNetConfig& d = config_.delta_net;
    DeltaNetWeights weights{.qkv = projection(d.conv_channels(), config_.hidden_size),
                            .z = projection(d.value_width(), config_.hidden_size),
                            .b = matrix(formats_.gate, d.n_value_heads, config_.hidden_size),
                            .a = matrix(formats_.gate, d.n_value_heads, config_.hidden_size),
                            .out = projection(config_.hidden_size, d.value_width())};
    weights.conv.resize(static_cast<size_t>(d.conv_channels() * d.conv_kernel));
    for (size_t i = 0; i < weights.conv.size(); ++i)
      weights.conv[i] = 0.5f * normal(1, i, Draw::kWeight);
    weights.a_log = weights.dt_bias = Vector(static_cast<size_t>(d.n_value_heads));
    weights.norm = ones(d.value_dim);
    return weights;
  }

  FfnWeights make_ffn(int32_t intermediate_size) const {
    return {.gate = projection(intermediate_size, config_.hidden_size),
            .up = projection(intermediate_size, config_.hidden_size),
            .down = projection(config_.hidden_size, intermediate_size)};
  }

  ExpertsWeights make_experts() const {
    const ExpertsConfig& e = config_.experts;
    ExpertsWeights weights{.router = matrix(formats_.router, e.n_experts, config_.hidden_size)};
    for (int32_t i = 0; i < e.n_experts; ++i)
      weights.experts.push_back(make_ffn(e.intermediate_size));
    if (e.shared_intermediate_size == 0) return weights;
    weights.shared = make_ffn(e.shared_intermediate_size);
    weights.shared_gate = matrix(formats_.router, 1, config_.hidden_size);
    return weights;
  }

  const ModelConfig& config_;
  Formats formats_;
  MakeMatrix make_;
};

}  // namespace

int64_t synthetic_bytes(const SyntheticModelOptions& options) {
  int64_t sum = 0;
  const auto count = [&](const WeightView& shape) {
    sum += static_cast<int64_t>(stored_bytes(shape));
    return shape;
  };
  ModelMaker(options, count).make_model();
  return sum;
}

LoadedModel make_synthetic_model(const SyntheticModelOptions& options) {
  LoadedModel model{.config = options.config};
  const auto fill = [&](const WeightView& shape) {
    std::vector<std::byte>& bytes = model.owned.emplace_back(stored_bytes(shape));
    // Rows of n_in inputs of size one give outputs of size one.
    return fill_weight(shape, 1.0f / std::sqrt(static_cast<float>(shape.n_in)), bytes);
  };
  model.weights = ModelMaker(options, fill).make_model();
  return model;
}

}  // namespace slip
