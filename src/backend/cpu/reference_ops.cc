#include "backend/cpu/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/check.h"

namespace slip::cpu {
namespace {

double sigmoid(double x) { return 1.0 / (1.0 + std::exp(-x)); }
double silu(double x) { return x * sigmoid(x); }
double softplus(double x) { return x > 20.0 ? x : std::log1p(std::exp(x)); }

template <class T>
double sum_of_squares(std::span<T> x) {
  double sum = 0;
  for (const double v : x) sum += v * v;
  return sum;
}

template <class T>
double rms_scale(std::span<T> x, double eps) {
  return 1.0 / std::sqrt(sum_of_squares(x) / static_cast<double>(x.size()) + eps);
}

// Products of one row to its place.
void finish_row(Epilogue epilogue, std::span<const double> y, float* out) {
  const size_t n_out = epilogue == Epilogue::kSiluMul ? y.size() / 2 : y.size();
  for (size_t o = 0; o < n_out; ++o) {
    switch (epilogue) {
      case Epilogue::kNone:
        out[o] = static_cast<float>(y[o]);
        break;
      case Epilogue::kSiluMul:
        out[o] = static_cast<float>(silu(y[o]) * y[n_out + o]);
        break;
      case Epilogue::kAddResidual:
        out[o] = static_cast<float>(static_cast<double>(out[o]) + y[o]);
        break;
    }
  }
}

}  // namespace

ReferenceOps::ReferenceOps(const ModelConfig& config, const StateLayout& layout,
                           std::span<SequenceState> states, const OpsPlan& plan)
    : OpsStorage(config, layout, states, plan), rotary_(config.attention) {}

void ReferenceOps::embed(const Pass& pass, MatrixRef table, Act out) {
  check_pass(pass);
  const WeightView& weight = matrix(table);
  for (int32_t r = 0; r < pass.n_rows(); ++r) {
    const auto token = static_cast<int32_t>(pass.tokens[static_cast<size_t>(r)]);
    dequantize_row(weight, token, {row(out, r), static_cast<size_t>(weight.n_in)});
  }
}

void ReferenceOps::norm(const Pass& pass, const NormArgs& args) {
  check_pass(pass);
  const std::span<const float> weight = vector(args.weight);
  for (int32_t r = 0; r < pass.n_rows(); ++r) {
    const std::span<const float> x(row(args.x, r), weight.size());
    float* out = row(args.out, r) + args.out_column;
    const double scale = rms_scale(x, static_cast<double>(config().rms_norm_eps));
    for (size_t i = 0; i < weight.size(); ++i)
      out[i] = static_cast<float>(x[i] * scale * weight[i]);
  }
}

void ReferenceOps::project(const ProjectArgs& args) {
  check_project(args);
  const auto n_rows = static_cast<size_t>(args.n_rows);
  const auto n_in = static_cast<size_t>(matrix(args.weights[0]).n_in);
  std::vector<std::vector<double>> x(n_rows), y(n_rows);
  for (size_t r = 0; r < n_rows; ++r) {
    const float* input = row(args.x, static_cast<int32_t>(r));
    x[r].assign(input, input + n_in);
    if (args.norm == VectorRef::kNone) continue;
    const double scale = rms_scale(std::span(x[r]), static_cast<double>(config().rms_norm_eps));
    for (size_t i = 0; i < n_in; ++i) x[r][i] *= scale * static_cast<double>(vector(args.norm)[i]);
  }
  std::vector<float> weights(n_in);
  for (const MatrixRef ref : args.weights) {
    for (int32_t o = 0; o < matrix(ref).n_out; ++o) {
      dequantize_row(matrix(ref), o, weights);
      for (size_t r = 0; r < n_rows; ++r) {
        double sum = 0;
        for (size_t i = 0; i < n_in; ++i) sum += static_cast<double>(weights[i]) * x[r][i];
        y[r].push_back(sum);
      }
    }
  }
  for (size_t r = 0; r < n_rows; ++r) {
    for (size_t o = 0; o < vector(args.bias).size(); ++o)
      y[r][o] += static_cast<double>(vector(args.bias)[o]);
    finish_row(args.epilogue, y[r], row(args.out, static_cast<int32_t>(r)) + args.out_column);
  }
}

void ReferenceOps::attention(const Pass& pass, const AttentionArgs& args) {
  check_pass(pass);
  int32_t first_row = 0;
  for (const PassSegment& segment : pass.segments) {
    const SequenceState& s = state(segment.state);
    for (int32_t i = 0; i < segment.n_rows; ++i)
      append(args, s, first_row + i, segment.position + i);
    for (int32_t i = 0; i < segment.n_rows && !args.append_only; ++i)
      attend(args, s, first_row + i, segment.position + i);
    first_row += segment.n_rows;
  }
}

// One query or key head after its norm (specification 4.2) and rotation (4.4).
std::vector<double> ReferenceOps::prepared_head(std::span<const float> x, VectorRef norm,
                                                int32_t position) const {
  std::vector<double> y(x.begin(), x.end());
  if (norm != VectorRef::kNone) {
    const double scale = rms_scale(x, static_cast<double>(config().rms_norm_eps));
    for (size_t i = 0; i < y.size(); ++i) y[i] *= scale * static_cast<double>(vector(norm)[i]);
  }
  const auto half = static_cast<size_t>(rotary_.n_pairs());
  std::vector<float> cos(half), sin(half);
  rotary_.turn(position, cos, sin);
  for (size_t i = 0; i < half; ++i) {
    const double first = y[i], second = y[i + half];
    y[i] = first * cos[i] - second * sin[i];
    y[i + half] = second * cos[i] + first * sin[i];
  }
  return y;
}

void ReferenceOps::append(const AttentionArgs& args, const SequenceState& state, int32_t row,
                          int32_t position) const {
  const AttentionConfig& a = config().attention;
  for (int32_t head = 0; head < a.n_kv_heads; ++head) {
    const KvHead kv{layout().kv, state.blocks.data(), args.kv_layer, head};
    const float* k = this->row(Act::kProjected, row) + a.queries_width() + head * a.head_dim;
    const float* v = k + a.kv_width();
    const std::vector<double> key =
        prepared_head({k, static_cast<size_t>(a.head_dim)}, args.k_norm, position);
    for (int32_t d = 0; d < a.head_dim; ++d) {
      kv.set_key(position, d, static_cast<float>(key[static_cast<size_t>(d)]));
      kv.set_value(position, d, v[d]);
    }
  }
}

void ReferenceOps::attend(const AttentionArgs& args, const SequenceState& state, int32_t row,
                          int32_t position) const {
  const AttentionConfig& a = config().attention;
  const auto head_dim = static_cast<size_t>(a.head_dim);
  const auto n_tokens = static_cast<size_t>(position) + 1;
  for (int32_t head = 0; head < a.n_heads; ++head) {
    const KvHead kv{layout().kv, state.blocks.data(), args.kv_layer,
                    head / (a.n_heads / a.n_kv_heads)};
    const float* q = this->row(Act::kProjected, row) + head * a.query_stride();
    const std::vector<double> query = prepared_head({q, head_dim}, args.q_norm, position);
    std::vector<double> scores(n_tokens);
    std::vector<float> cached(head_dim);
    for (size_t t = 0; t < n_tokens; ++t) {
      kv.read_key(static_cast<int32_t>(t), cached);
      for (size_t d = 0; d < head_dim; ++d) scores[t] += query[d] * static_cast<double>(cached[d]);
      scores[t] /= std::sqrt(static_cast<double>(a.head_dim));
    }
    const double highest = *std::ranges::max_element(scores);
    std::vector<double> sums(head_dim);
    double weight = 0;
    for (size_t t = 0; t < n_tokens; ++t) {
      kv.read_value(static_cast<int32_t>(t), cached);
      const double p = std::exp(scores[t] - highest);
      weight += p;
      for (size_t d = 0; d < head_dim; ++d) sums[d] += p * static_cast<double>(cached[d]);
    }
    const float* gate = q + a.head_dim;
    float* out = this->row(Act::kMixed, row) + head * a.head_dim;
    for (size_t d = 0; d < head_dim; ++d) {
      const double open = a.has_output_gate ? sigmoid(static_cast<double>(gate[d])) : 1.0;
      out[d] = static_cast<float>(sums[d] / weight * open);
    }
  }
}

std::vector<double> ReferenceOps::multiply(MatrixRef ref, std::span<const double> x) const {
  std::vector<float> weights(x.size());
  std::vector<double> y(static_cast<size_t>(matrix(ref).n_out));
  for (size_t o = 0; o < y.size(); ++o) {
    dequantize_row(matrix(ref), static_cast<int32_t>(o), weights);
    for (size_t i = 0; i < x.size(); ++i) y[o] += static_cast<double>(weights[i]) * x[i];
  }
  return y;
}

void ReferenceOps::add_ffn(const FfnRefs& ffn, double weight, std::span<const double> x,
                           std::span<double> sum) const {
  std::vector<double> hidden = multiply(ffn.gate, x);
  const std::vector<double> up = multiply(ffn.up, x);
  for (size_t i = 0; i < hidden.size(); ++i) hidden[i] = silu(hidden[i]) * up[i];
  const std::vector<double> out = multiply(ffn.down, hidden);
  for (size_t i = 0; i < out.size(); ++i) sum[i] += weight * out[i];
}

void ReferenceOps::experts(const Pass& pass, const ExpertsArgs& args) {
  check_pass(pass);
  const ExpertsConfig& e = config().experts;
  const ExpertsOfLayer& experts = experts_of(args.experts);
  const std::span<const float> norm = vector(args.norm);
  for (int32_t r = 0; r < pass.n_rows(); ++r) {
    const std::span<float> residual(row(Act::kResidual, r), norm.size());
    std::vector<double> x(residual.begin(), residual.end());
    const double scale = rms_scale(residual, static_cast<double>(config().rms_norm_eps));
    for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * static_cast<double>(norm[i]);

    std::vector<double> p = multiply(args.router, x);
    const double highest = *std::ranges::max_element(p);
    double total = 0;
    for (double& v : p) total += v = std::exp(v - highest);
    for (double& v : p) v /= total;
    std::vector<size_t> order(p.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return p[a] > p[b]; });
    order.resize(static_cast<size_t>(e.n_experts_per_token));
    std::ranges::sort(order);
    double chosen = 0;
    for (const size_t expert : order) chosen += p[expert];

    std::vector<double> sum(residual.begin(), residual.end());
    for (const size_t expert : order)
      add_ffn(experts.routed[expert], e.renormalise ? p[expert] / chosen : p[expert], x, sum);
    if (args.shared_gate != MatrixRef::kNone)
      add_ffn(experts.shared, sigmoid(multiply(args.shared_gate, x)[0]), x, sum);
    for (size_t i = 0; i < sum.size(); ++i) residual[i] = static_cast<float>(sum[i]);
  }
}

void ReferenceOps::delta_net(const Pass& pass, const DeltaNetArgs& args) {
  check_delta_net(pass);
  int32_t first_row = 0;
  for (const PassSegment& segment : pass.segments) {
    run_segment(args, segment, first_row);
    first_row += segment.n_rows;
  }
}

void ReferenceOps::run_segment(const DeltaNetArgs& args, const PassSegment& segment,
                               int32_t first_row) const {
  const SequenceState& s = state(segment.state);
  const DeltaNetConfig& d = config().delta_net;
  const int32_t layer = args.recurrent_layer;
  const auto n_channels = static_cast<size_t>(d.conv_channels());
  const auto width = static_cast<size_t>(layout().kept_width());
  const auto n_before = static_cast<size_t>(d.conv_kernel - 1);
  const auto n_fold = static_cast<size_t>(segment.n_fold);

  // History, rows to fold, rows of the pass; of the history only the convolution's inputs exist.
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < n_before; ++i) {
    const float* history = conv_history(s, layer) + i * n_channels;
    inputs.emplace_back(history, history + n_channels);
  }
  for (size_t i = 0; i < n_fold; ++i) {
    const float* kept = kept_row(s, layer, static_cast<int32_t>(i));
    inputs.emplace_back(kept, kept + width);
  }
  for (int32_t i = 0; i < segment.n_rows; ++i) inputs.push_back(delta_input(args, first_row + i));

  const size_t n_final = n_before + n_fold + static_cast<size_t>(segment.n_certain);
  const std::span<float> recurrent(recurrent_head(s, layer, 0), layout().recurrent_floats());
  std::vector<float> drafted;
  for (size_t t = n_before; t < inputs.size(); ++t) {
    if (t == n_final) drafted.assign(recurrent.begin(), recurrent.end());
    const std::span<float> stepped = t < n_final ? recurrent : std::span(drafted);
    const std::vector<double> qkv = convolved(args, inputs, t);
    const std::vector<float> read = step(stepped, qkv, std::span(inputs[t]).subspan(n_channels));
    if (t < n_before + n_fold) continue;
    gate_output(args, read, first_row + static_cast<int32_t>(t - n_before - n_fold));
  }
  for (size_t i = 0; i < n_before; ++i) {
    std::copy_n(inputs[n_final - n_before + i].begin(), n_channels,
                conv_history(s, layer) + i * n_channels);
  }
  for (size_t t = n_final; t < inputs.size(); ++t) {
    std::ranges::copy(inputs[t], kept_row(s, layer, static_cast<int32_t>(t - n_final)));
  }
}

// [q | k | v before convolution | decay | beta] of a row.
std::vector<float> ReferenceOps::delta_input(const DeltaNetArgs& args, int32_t row) const {
  const DeltaNetConfig& d = config().delta_net;
  const float* projected = this->row(Act::kProjected, row);
  const float* b = projected + d.conv_channels() + d.value_width();
  const float* a = b + d.n_value_heads;
  std::vector<float> input(projected, projected + d.conv_channels());
  for (int32_t h = 0; h < d.n_value_heads; ++h) {
    const double rate = std::exp(static_cast<double>(vector(args.a_log)[static_cast<size_t>(h)]));
    const double dt = static_cast<double>(a[h]) +
                      static_cast<double>(vector(args.dt_bias)[static_cast<size_t>(h)]);
    input.push_back(static_cast<float>(std::exp(-rate * softplus(dt))));
  }
  for (int32_t h = 0; h < d.n_value_heads; ++h)
    input.push_back(static_cast<float>(sigmoid(static_cast<double>(b[h]))));
  return input;
}

std::vector<double> ReferenceOps::convolved(const DeltaNetArgs& args,
                                            std::span<const std::vector<float>> inputs,
                                            size_t t) const {
  const auto n_taps = static_cast<size_t>(config().delta_net.conv_kernel);
  const std::span<const float> taps = vector(args.conv);
  std::vector<double> out(static_cast<size_t>(config().delta_net.conv_channels()));
  for (size_t c = 0; c < out.size(); ++c) {
    double sum = 0;
    for (size_t j = 0; j < n_taps; ++j) {
      sum += static_cast<double>(taps[c * n_taps + j]) *
             static_cast<double>(inputs[t + 1 - n_taps + j][c]);
    }
    out[c] = silu(sum);
  }
  return out;
}

// The gated delta rule of specification 4.5 for one token and every value head; returns what the
// token reads, [value_width].
std::vector<float> ReferenceOps::step(std::span<float> recurrent, std::span<const double> qkv,
                                      std::span<const float> gates) const {
  constexpr double kEps = 1e-6;
  const DeltaNetConfig& d = config().delta_net;
  const auto key_dim = static_cast<size_t>(d.key_dim), value_dim = static_cast<size_t>(d.value_dim);
  std::vector<float> read(static_cast<size_t>(d.value_width()));
  for (size_t h = 0; h < static_cast<size_t>(d.n_value_heads); ++h) {
    const size_t key_head = h / static_cast<size_t>(d.n_value_heads / d.n_key_heads);
    const auto q = qkv.subspan(key_head * key_dim, key_dim);
    const auto k = qkv.subspan(static_cast<size_t>(d.key_width()) + key_head * key_dim, key_dim);
    const auto v = qkv.subspan(static_cast<size_t>(2 * d.key_width()) + h * value_dim, value_dim);
    const double q_scale =
        1.0 / std::sqrt(sum_of_squares(q) + kEps) / std::sqrt(static_cast<double>(d.key_dim));
    const double k_scale = 1.0 / std::sqrt(sum_of_squares(k) + kEps);
    const double decay = gates[h], beta = gates[h + static_cast<size_t>(d.n_value_heads)];
    for (size_t j = 0; j < value_dim; ++j) {
      const size_t strip = (h * value_dim + j) / kStripColumns;
      float* column =
          recurrent.data() + strip * key_dim * kStripColumns + j % kStripColumns;  // S[., j]
      double predicted = 0;
      for (size_t i = 0; i < key_dim; ++i) {
        predicted += decay * static_cast<double>(column[i * kStripColumns]) * k[i] * k_scale;
      }
      const double delta = beta * (v[j] - predicted);
      double sum = 0;
      for (size_t i = 0; i < key_dim; ++i) {
        const double s =
            decay * static_cast<double>(column[i * kStripColumns]) + k[i] * k_scale * delta;
        column[i * kStripColumns] = static_cast<float>(s);
        sum += s * q[i] * q_scale;
      }
      read[h * value_dim + j] = static_cast<float>(sum);
    }
  }
  return read;
}

// Gated RMS norm of every value head (specification 3.1) into kMixed.
void ReferenceOps::gate_output(const DeltaNetArgs& args, std::span<const float> read,
                               int32_t row) const {
  const DeltaNetConfig& d = config().delta_net;
  const auto value_dim = static_cast<size_t>(d.value_dim);
  const float* z = this->row(Act::kProjected, row) + d.conv_channels();
  float* out = this->row(Act::kMixed, row);
  for (size_t at = 0; at < read.size(); at += value_dim) {
    const double scale =
        rms_scale(read.subspan(at, value_dim), static_cast<double>(config().rms_norm_eps));
    for (size_t j = 0; j < value_dim; ++j) {
      const double normed =
          static_cast<double>(read[at + j]) * scale * static_cast<double>(vector(args.norm)[j]);
      out[at + j] = static_cast<float>(normed * silu(static_cast<double>(z[at + j])));
    }
  }
}

}  // namespace slip::cpu
