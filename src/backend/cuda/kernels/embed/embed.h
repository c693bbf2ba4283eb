// Rows of a table by token.
#pragma once

#include "backend/cuda/device/device.h"
#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/kernels/step_data.h"

namespace slip::cuda {

struct EmbedParams {
  StepView step;
  DeviceMatrix table;    // [vocab_size, hidden_size]
  float* out = nullptr;  // [n_rows, table.n_in]
};

// out[r] = row tokens[r] of the table. Rows beyond counts->n_rows do nothing.
void embed(Stream& stream, const EmbedParams& params, int32_t n_rows_max);

}  // namespace slip::cuda
