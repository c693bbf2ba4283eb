// The norm kernel against its formula.
#include "backend/cuda/kernels/norm/norm.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"

namespace slip::cuda {
namespace {

TEST_F(KernelTest, NormEqualsItsFormulaInEveryRowAndTouchesNoOther) {
  constexpr int32_t kRows = 3, kRowsMax = 5;
  for (const int32_t dim : {8, 96, 257, 5120}) {
    const std::vector<float> x = random(kRowsMax * dim, 1), weight = random(dim, 2);
    const auto device_x = upload(x), device_weight = upload(weight);
    const auto y = poisoned<float>(kRowsMax * dim);
    const auto n_rows = upload(std::vector<int32_t>{kRows});
    norm(stream(),
         {.n_rows = n_rows.data(),
          .x = device_x.data(),
          .weight = device_weight.data(),
          .y = y.data(),
          .dim = dim,
          .x_stride = dim,
          .y_stride = dim,
          .eps = 1e-6f},
         kRowsMax);
    std::vector<float> wanted(x.size(), kNan);
    for (int32_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (int32_t i = 0; i < dim; ++i) sum += std::pow(double{x[at(row * dim + i)]}, 2);
      for (int32_t i = 0; i < dim; ++i)
        wanted[at(row * dim + i)] = static_cast<float>(
            double{x[at(row * dim + i)]} / std::sqrt(sum / dim + 1e-6) * double{weight[at(i)]});
    }
    // Sums of up to 5120 squares in 256 parts, and three roundings.
    expect_close(download(y), wanted, 1e-6, "norm of " + std::to_string(dim));
  }
}

}  // namespace
}  // namespace slip::cuda
