// What a model asks of a device: about ten operations, each a formula with a name and a place where
// a fused kernel may live. The forward pass (model/transformer.cc) is written once over them.
//
// Within a call every output element is computed in an order that does not depend on how many rows
// run, on their neighbours or on the number of threads. That is what makes speculation invisible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/lane.h"
#include "base/ids.h"
#include "model/config.h"
#include "tensor/quant.h"

namespace slip {

// Activations live in named places that a backend sizes at load. All are float, [n_rows, width],
// rows packed.
enum class Act : uint8_t {
  kResidual,   // [n_rows, hidden_size] the stream between layers
  kNormed,     // [n_rows, hidden_size] after the final norm; the draft head's input and output
  kProjected,  // [n_rows, projected_width] inputs of a mixer
  kMixed,      // [n_rows, mixed_width] outputs of a mixer, before its output projection
  kFfn,        // [n_rows, intermediate_size] of a dense layer
  kFusion,     // [n_rows, 2 * hidden_size] embedding and hidden state side by side
  kSelected,   // [logit_rows_max, hidden_size] rows that produce logits
  kLogits,     // [logit_rows_max, vocab_size]
  kHidden,     // [hidden_rows_max, hidden_size] hidden states that outlast a pass
};
inline constexpr int kActCount = 9;

// Columns of kProjected: [q (and gate) per head | k | v] before attention, [q | k | v | z | b | a]
// before the delta net.
int32_t projected_width(const ModelConfig& config);
int32_t mixed_width(const ModelConfig& config);
int32_t act_width(const ModelConfig& config, Act act);

// Limits that all memory is sized from.
struct OpsPlan {
  int32_t batch_rows_max = 0;
  int32_t logit_rows_max = 0;
  int32_t hidden_rows_max = 0;
  int32_t states_max = 0;
  int32_t n_splits = 0;  // W of backend/split_rule.h
};

int32_t act_rows(const OpsPlan& plan, Act act);

enum class MatrixRef : int32_t { kNone = -1 };
enum class VectorRef : int32_t { kNone = -1 };
enum class ExpertsRef : int32_t { kNone = -1 };

// What a matrix is for. A backend may keep those of products in an order of its own and round what
// they multiply. Others are looked up, or decide: a router's logits stay as exact as they can be.
enum class MatrixUse : uint8_t { kProduct, kOther };

// Rows of one sequence within a pass: positions [position, position + n_rows) of a KV layer or of
// the recurrence.
struct PassSegment {
  StateId state{};
  int32_t position = 0;
  int32_t n_rows = 0;     // 0: nothing but the fold of delta_net
  int32_t n_certain = 0;  // leading rows that become part of the recurrent state at once
  int32_t n_fold = 0;     // accepted rows whose kept inputs become part of it before
};

struct RowCopy {
  int32_t from, to;
};

// One traversal of some layers by some rows.
struct Pass {
  std::span<const TokenId> tokens;        // [n_rows]
  std::span<const PassSegment> segments;  // rows segment after segment

  int32_t n_rows() const { return static_cast<int32_t>(tokens.size()); }
};

enum class Epilogue : uint8_t {
  kNone,         // out = [W0 x | W1 x | ...]
  kSiluMul,      // out = silu(W0 x) * (W1 x)
  kAddResidual,  // out += W0 x
};

struct ProjectArgs {
  Act x{};
  VectorRef norm = VectorRef::kNone;   // if given, x is RMS-normalised and scaled by it on the way
                                       // in; x itself stays
  std::span<const MatrixRef> weights;  // 1 to 4
  Epilogue epilogue = Epilogue::kNone;
  VectorRef bias = VectorRef::kNone;  // [sum of n_out] added to the outputs; with kNone only
  Act out{};                          // never x
  int32_t out_column = 0;             // first column written; with kNone only
  int32_t n_rows = 0;
};

struct NormArgs {
  Act x{};
  VectorRef weight{};      // [hidden_size]
  Act out{};               // may be x
  int32_t out_column = 0;  // first column written; rows of `out` may be wider than hidden_size
};

struct AttentionArgs {
  int32_t kv_layer = 0;  // index among the layers that write a KV cache
  // [head_dim]; kNone where the configuration has no head norms.
  VectorRef q_norm = VectorRef::kNone, k_norm = VectorRef::kNone;
  bool append_only = false;  // true: write k and v of the rows, compute no output
};

struct DeltaNetArgs {
  int32_t recurrent_layer = 0;   // index among the delta-net layers
  VectorRef conv{};              // [conv_channels, conv_kernel]
  VectorRef a_log{}, dt_bias{};  // [n_value_heads]
  VectorRef norm{};              // [value_dim]
};

// down (silu(gate x) * (up x))
struct FfnRefs {
  MatrixRef gate = MatrixRef::kNone, up = MatrixRef::kNone;  // [intermediate_size, hidden_size]
  MatrixRef down = MatrixRef::kNone;                         // [hidden_size, intermediate_size]
};

struct ExpertsArgs {
  VectorRef norm{};    // of the input, [hidden_size]
  MatrixRef router{};  // [n_experts, hidden_size]
  ExpertsRef experts{};
  MatrixRef shared_gate = MatrixRef::kNone;  // [1, hidden_size]
};

class Ops {
 public:
  virtual ~Ops() = default;

  // Comes before the operations of a pass, which is the one that they are given. A device brings
  // over here what they will look up.
  virtual void begin(const Pass& pass) = 0;

  // Rows [first_row, first_row + n_rows) of a place, [n_rows, act_width], as the host sees them
  // until the next call. Waits for what computes them. Throws Error{kDevice} where that failed.
  virtual std::span<const float> read(Act act, int32_t first_row, int32_t n_rows) = 0;
  virtual void write(Act act, int32_t row, std::span<const float> values) = 0;

  // What the fast paths have done so far; empty where there are none.
  virtual std::vector<LaneReport> lanes() const { return {}; }

  // At load. The view's bytes outlive the ops; a backend may point at them, copy or repack.
  virtual MatrixRef add_matrix(const WeightView& weight, MatrixUse use) = 0;
  virtual VectorRef add_vector(std::span<const float> values) = 0;
  // The networks of one layer, of matrices added before.
  //   experts  [n_experts]
  //   shared   kNone where the configuration has no shared expert
  virtual ExpertsRef add_experts(std::span<const FfnRefs> experts, const FfnRefs& shared) = 0;

  // out[r, 0..hidden_size) = row tokens[r] of `table`.
  virtual void embed(const Pass& pass, MatrixRef table, Act out) = 0;

  // out[r, column + i] = x[r, i] / sqrt(mean(x[r]^2) + eps) * weight[i].
  virtual void norm(const Pass& pass, const NormArgs& args) = 0;

  // Matrix products; y = W x with W [n_out, n_in].
  virtual void project(const ProjectArgs& args) = 0;

  // Full attention (specification 4.2, 4.4): reads q, gate, k, v from kProjected; normalises
  // q and k per head, rotates them, appends k and v at the rows' positions, attends causally,
  // multiplies by sigmoid(gate), writes kMixed; norms and gate where the configuration has them. A
  // row sees positions up to its own and nothing above, whatever bytes lie there.
  virtual void attention(const Pass& pass, const AttentionArgs& args) = 0;

  // Gated delta net (specification 4.5): reads q, k, v, z, b, a from kProjected; convolution, SiLU,
  // normalisation, recurrence, gated norm; writes kMixed. First folds what the sequence accepted
  // since its last pass into its recurrent state, then the certain rows; keeps the inputs of the
  // drafted rows instead of states. A segment without rows is only folded.
  virtual void delta_net(const Pass& pass, const DeltaNetArgs& args) = 0;

  // Routed feed-forward networks (specification 4.7), x = norm(kResidual): router probabilities by
  // softmax over all experts, the n_experts_per_token largest (lowest index first among equals);
  //   kResidual += sum over those, ascending, of p_e FFN_e(x), then sigmoid(shared_gate x) FFN(x).
  virtual void experts(const Pass& pass, const ExpertsArgs& args) = 0;

  // to[copy.to] = from[copy.from], places of the same width. No row is both read and written, or
  // written twice.
  virtual void copy_rows(Act from, Act to, std::span<const RowCopy> copies) = 0;
};

}  // namespace slip
