// Rows that are copied from place to place.
#include "backend/cuda/kernels/copy/copy.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"

namespace slip::cuda {
namespace {

TEST_F(KernelTest, CopiesTheRowsOfEveryPairAndTouchesNoOther) {
  constexpr int32_t kWidth = 300, kRowsFrom = 4, kRowsTo = 5;
  const std::vector<float> from = random(kRowsFrom * kWidth, 1);
  const auto device_from = upload(from);
  const auto to = poisoned<float>(kRowsTo * kWidth);
  // The last pair is beyond the count.
  const auto pairs = upload(std::vector<RowPair>{{3, 0}, {1, 4}, {1, 2}, {0, 1}});
  const auto n_pairs = upload(std::vector<int32_t>{3});
  copy_rows(stream(),
            {.n_pairs = n_pairs.data(),
             .pairs = pairs.data(),
             .from = device_from.data(),
             .to = to.data(),
             .width = kWidth},
            4);
  std::vector<float> wanted(at(kRowsTo * kWidth), kNan);
  for (const RowPair pair : {RowPair{3, 0}, {1, 4}, {1, 2}})
    std::copy_n(&from[at(pair.from * kWidth)], kWidth, &wanted[at(pair.to * kWidth)]);
  expect_close(download(to), wanted, 0, "copied rows");
}

}  // namespace
}  // namespace slip::cuda
