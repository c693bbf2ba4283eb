// Routed feed-forward networks (model specification 4.7): a router chooses some of many small
// networks for each row, and one more may serve every row.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/matrix.h"

namespace slip::cuda {

inline constexpr int32_t kExpertsMax = 1024;
inline constexpr int32_t kExpertsPerTokenMax = 32;

struct RouteParams {
  const int32_t* n_rows = nullptr;  // of the device; rows beyond do nothing
  const float* logits = nullptr;    // [n_rows, n_experts] of the router
  int32_t n_experts = 0;            // at most kExpertsMax
  int32_t n_per_token = 0;          // at most kExpertsPerTokenMax, and n_experts
  bool renormalise = true;          // the chosen probabilities are scaled to sum to one
  int32_t* chosen = nullptr;        // [n_rows, n_per_token] ascending
  float* weights = nullptr;         // [n_rows, n_per_token]
};

// Softmax over all experts, then the largest, lowest index first among equals. A row that is not
// finite chooses some.
void route(Stream& stream, const RouteParams& params, int32_t n_rows_max);

struct ExpertMatrices {
  DeviceMatrix gate, up, down;  // down (silu(gate x) * (up x))
};

struct ExpertsParams {
  const int32_t* n_rows = nullptr;
  const ExpertMatrices* experts = nullptr;  // of the device: [n_experts], then the shared one
  int32_t n_experts = 0;
  int32_t n_per_token = 0;
  const int32_t* chosen = nullptr;       // from route()
  const float* weights = nullptr;        // likewise
  const float* shared_logits = nullptr;  // [n_rows] of the shared expert's gate; null: none
  const float* x = nullptr;              // [n_rows, width]
  int32_t width = 0;
  float* hidden = nullptr;    // scratch, [n_rows, n_slots(), hidden_width]
  int32_t hidden_width = 0;   // of the widest expert
  float* residual = nullptr;  // [n_rows, width]

  constexpr int32_t n_slots() const { return n_per_token + (shared_logits != nullptr ? 1 : 0); }
};

// residual += sum over the chosen experts, ascending, of weight * FFN(x), then
// sigmoid(shared logit) * FFN(x) of the shared one. By definition, for every format.
void experts_plain(Stream& stream, const ExpertsParams& params, int32_t n_rows_max);

}  // namespace slip::cuda
