// The words of kernels against what they say: the same tests run in the emulation, which so is held
// to what a GPU does.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"
#include "backend/cuda/testing/tile_probes.h"
#include "tensor/dtype.h"

namespace slip::cuda {
namespace {

using TileTest = KernelTest;

// Values that every order of additions gives alike: small integers.
std::vector<float> small_integers(int64_t n, uint64_t seed) {
  std::vector<float> values(at(n));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::floor(17 * uniform(seed, i, Draw::kTest)) - 8;
  return values;
}

std::vector<uint16_t> bits_of(const std::vector<float>& values, DType type) {
  std::vector<uint16_t> bits(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    bits[i] = type == DType::kBF16 ? to_bfloat16(values[i]).bits : float_to_half(values[i]);
  return bits;
}

TEST_F(TileTest, MatrixUnitsMultiplyAndAdd) {
  for (const DType type : {DType::kBF16, DType::kF16}) {
    const std::vector<float> a = small_integers(16 * 16, 1), b = small_integers(16 * 8, 2);
    const std::vector<float> c = small_integers(16 * 8, 3);
    const auto device_a = upload(bits_of(a, type)), device_b = upload(bits_of(b, type));
    const auto d = upload(c);
    probe_multiply_add(
        stream(),
        {.a = device_a.data(), .b = device_b.data(), .d = d.data(), .is_f16 = type == DType::kF16});
    std::vector<float> wanted = c;
    for (size_t i = 0; i < 16; ++i)
      for (size_t j = 0; j < 8; ++j)
        for (size_t k = 0; k < 16; ++k) wanted[i * 8 + j] += a[i * 16 + k] * b[k * 8 + j];
    EXPECT_EQ(download(d), wanted) << name(type);
  }
}

TEST_F(TileTest, MatricesComeFromSharedMemoryStraightAndTransposed) {
  std::vector<uint16_t> matrices(4 * 8 * 8);
  for (size_t i = 0; i < matrices.size(); ++i) matrices[i] = static_cast<uint16_t>(i);
  const auto device = upload(matrices);
  for (const bool is_transposed : {false, true}) {
    const auto out = poisoned<uint16_t>(4 * 8 * 8);
    probe_load_matrices(
        stream(), {.matrices = device.data(), .out = out.data(), .is_transposed = is_transposed});
    std::vector<uint16_t> wanted(matrices.size());
    for (size_t m = 0; m < 4; ++m)
      for (size_t i = 0; i < 8; ++i)
        for (size_t j = 0; j < 8; ++j)
          wanted[m * 64 + i * 8 + j] = matrices[m * 64 + (is_transposed ? j * 8 + i : i * 8 + j)];
    EXPECT_EQ(download(out), wanted) << "transposed " << is_transposed;
  }
}

TEST_F(TileTest, HalvesRoundToTheNearestEven) {
  const std::vector<float> x = {1.0f,     1.00390625f, 1.01171875f,   -3.1415926f,
                                65519.0f, 65520.0f,    1e-8f,         -6e-8f,
                                1e38f,    0.0f,        1.00048828125f};
  const auto device = upload(x);
  const auto bf16 = poisoned<uint16_t>(static_cast<int64_t>(x.size()));
  const auto f16 = poisoned<uint16_t>(static_cast<int64_t>(x.size()));
  probe_halves(stream(), {.x = device.data(),
                          .bf16 = bf16.data(),
                          .f16 = f16.data(),
                          .n = static_cast<int32_t>(x.size())});
  EXPECT_EQ(download(bf16), bits_of(x, DType::kBF16));
  EXPECT_EQ(download(f16), bits_of(x, DType::kF16));
}

TEST_F(TileTest, SumsAndMaximaOfGroupsOfLanesReachEveryLane) {
  const std::vector<float> x = small_integers(64, 4);
  for (const int n_lanes : {1, 4, 32}) {
    const auto device = upload(x);
    const auto sums = poisoned<float>(64), maxima = poisoned<float>(64);
    probe_lanes(
        stream(),
        {.x = device.data(), .sums = sums.data(), .maxima = maxima.data(), .n_lanes = n_lanes});
    std::vector<float> wanted_sums(64), wanted_maxima(64);
    for (size_t i = 0; i < 64; ++i) {
      const size_t begin = i / at(n_lanes) * at(n_lanes);
      const auto group = std::span(x).subspan(begin, at(n_lanes));
      wanted_maxima[i] = *std::ranges::max_element(group);
      for (const float value : group) wanted_sums[i] += value;
    }
    EXPECT_EQ(download(sums), wanted_sums) << n_lanes << " lanes";
    EXPECT_EQ(download(maxima), wanted_maxima) << n_lanes << " lanes";
  }
}

TEST_F(TileTest, AsynchronousCopiesArriveInTheOrderOfTheirGroups) {
  std::vector<uint16_t> from(2 * 32 * 8);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint16_t>(3 * i);
  const auto device = upload(from);
  const auto out = poisoned<uint16_t>(static_cast<int64_t>(from.size()));
  probe_copies(stream(), {.from = device.data(), .out = out.data()});
  EXPECT_EQ(download(out), from);
}

}  // namespace
}  // namespace slip::cuda
