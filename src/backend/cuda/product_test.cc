// Products and embeddings of every weight format against tensor/quant.h and sums in double.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/matrix_fixture.h"
#include "backend/cuda/kernel_fixture.h"
#include "backend/cuda/kernels/embed/embed.h"
#include "backend/cuda/kernels/product/plain.h"

namespace slip::cuda {
namespace {

// A lane adds up to 4 terms here, 5 steps add the lanes, and a term is rounded once.
constexpr double kProductTolerance = 1e-6;

constexpr std::array kFormats = {
    WeightFormat::kF32,     WeightFormat::kF16,     WeightFormat::kBF16,    WeightFormat::kAffine2,
    WeightFormat::kAffine3, WeightFormat::kAffine4, WeightFormat::kAffine5, WeightFormat::kAffine6,
    WeightFormat::kAffine8, WeightFormat::kFp8Block};

// A matrix on the host and on the device.
class UploadedMatrix {
 public:
  UploadedMatrix(Stream& stream, const cpu::MatrixShape& shape, uint64_t seed)
      : host_(cpu::make_matrix(shape, seed)),
        data_(upload(stream, host_.data)),
        scales_(upload(stream, host_.scales)),
        biases_(upload(stream, host_.biases)) {}

  DeviceMatrix device() const {
    return at_device(host_.view, data_.data(), scales_.data(), biases_.data());
  }
  std::vector<float> row(int32_t row) const {
    std::vector<float> values(at(host_.view.n_in));
    dequantize_row(host_.view, row, values);
    return values;
  }
  double product(int32_t out, const float* x) const {
    double sum = 0;
    const std::vector<float> weights = row(out);
    for (size_t i = 0; i < weights.size(); ++i) sum += double{weights[i]} * double{x[i]};
    return sum;
  }

 private:
  // The first byte only makes the host's address odd.
  static DeviceMemory<std::byte> upload(Stream& stream, const std::vector<std::byte>& bytes) {
    if (bytes.empty()) return {};
    DeviceMemory<std::byte> memory(bytes.size() - 1);
    stream.to_device(memory.data(), bytes.data() + 1, memory.n_bytes());
    stream.wait();
    return memory;
  }

  cpu::MatrixBytes host_;
  DeviceMemory<std::byte> data_, scales_, biases_;
};

cpu::MatrixShape shape_of(WeightFormat format, int32_t n_out, DType scale_type = DType::kBF16) {
  return {format, cpu::group_size_of(format), n_out, 96, scale_type};
}

// [n_rows, 96] inputs, and outputs that begin as NaN.
class ProductTest : public KernelTest {
 protected:
  static constexpr int32_t kIn = 96, kRows = 11, kRowsMax = 19;

  ProductParams params_of(std::vector<DeviceMatrix> weights, int32_t n_columns,
                          int32_t n_rows = kRows) {
    x_ = random(int64_t{kRowsMax} * kIn, 7);
    device_x_ = upload(x_);
    n_rows_ = upload(std::vector<int32_t>{n_rows});
    out_ = poisoned<float>(int64_t{kRowsMax} * n_columns);
    ProductParams params{.n_rows = n_rows_.data(),
                         .x = device_x_.data(),
                         .x_stride = kIn,
                         .n_weights = static_cast<int32_t>(weights.size()),
                         .out = out_.data(),
                         .out_stride = n_columns};
    std::ranges::copy(weights, params.weights);
    return params;
  }
  const float* input(int32_t row) const { return x_.data() + at(row) * kIn; }

  std::vector<float> x_;
  DeviceMemory<float> device_x_, out_;
  DeviceMemory<int32_t> n_rows_;
};

TEST_F(ProductTest, PlainProductsEqualTheirDefinitionAndLeaveOtherRowsAlone) {
  for (const WeightFormat format : kFormats) {
    for (const DType scale_type : {DType::kBF16, DType::kF16, DType::kF32}) {
      const UploadedMatrix first(stream(), shape_of(format, 5, scale_type), 11);
      const UploadedMatrix second(stream(), shape_of(format, 9, scale_type), 13);
      multiply_plain(stream(), params_of({first.device(), second.device()}, 14), kRowsMax);
      std::vector<float> wanted(at(kRowsMax) * 14, kNan);
      for (int32_t r = 0; r < kRows; ++r) {
        for (int32_t o = 0; o < 14; ++o) {
          const double y = o < 5 ? first.product(o, input(r)) : second.product(o - 5, input(r));
          wanted[at(r * 14 + o)] = static_cast<float>(y);
        }
      }
      expect_close(download(out_), wanted, kProductTolerance,
                   std::string(name(format)) + ", scales " + std::string(name(scale_type)));
    }
  }
}

TEST_F(ProductTest, BiasIsAddedToTheColumnsOfAllMatrices) {
  const UploadedMatrix first(stream(), shape_of(WeightFormat::kBF16, 3), 1);
  const UploadedMatrix second(stream(), shape_of(WeightFormat::kBF16, 4), 2);
  ProductParams params = params_of({first.device(), second.device()}, 7, /*n_rows=*/1);
  const std::vector<float> bias = random(7, 3);
  const auto device_bias = upload(bias);
  params.bias = device_bias.data();
  multiply_plain(stream(), params, 1);
  const std::vector<float> found = download(out_);
  for (int32_t o = 0; o < 7; ++o) {
    const double y = o < 3 ? first.product(o, input(0)) : second.product(o - 3, input(0));
    EXPECT_NEAR(found[at(o)], y + double{bias[at(o)]}, 1e-5) << "column " << o;
  }
}

TEST_F(ProductTest, GateAndUpAreMultipliedThroughSilu) {
  const UploadedMatrix gate(stream(), shape_of(WeightFormat::kAffine4, 6), 1);
  const UploadedMatrix up(stream(), shape_of(WeightFormat::kAffine8, 6), 2);
  ProductParams params = params_of({gate.device(), up.device()}, 6, /*n_rows=*/2);
  params.epilogue = ProductEpilogue::kSiluMul;
  multiply_plain(stream(), params, 2);
  std::vector<float> wanted(at(kRowsMax) * 6, kNan);
  for (int32_t r = 0; r < 2; ++r) {
    for (int32_t o = 0; o < 6; ++o) {
      const double g = gate.product(o, input(r));
      wanted[at(r * 6 + o)] = static_cast<float>(g / (1 + std::exp(-g)) * up.product(o, input(r)));
    }
  }
  // The errors of both factors.
  expect_close(download(out_), wanted, 4 * kProductTolerance, "gate and up");
}

TEST_F(ProductTest, ResidualIsAddedTo) {
  const UploadedMatrix matrix(stream(), shape_of(WeightFormat::kF32, 5), 1);
  ProductParams params = params_of({matrix.device()}, 5, /*n_rows=*/1);
  params.epilogue = ProductEpilogue::kAddResidual;
  const std::vector<float> residual = random(5, 2);
  out_ = upload(residual);
  params.out = out_.data();
  multiply_plain(stream(), params, 1);
  const std::vector<float> found = download(out_);
  for (int32_t o = 0; o < 5; ++o)
    EXPECT_NEAR(found[at(o)], double{residual[at(o)]} + matrix.product(o, input(0)), 1e-5);
}

TEST_F(ProductTest, ARowHasTheSameBitsWhateverRunsBesideIt) {
  const UploadedMatrix matrix(stream(), shape_of(WeightFormat::kAffine4, 33), 5);
  multiply_plain(stream(), params_of({matrix.device()}, 33, kRowsMax), kRowsMax);
  const std::vector<float> together = download(out_);
  for (int32_t n_rows = 1; n_rows < kRowsMax; ++n_rows) {
    multiply_plain(stream(), params_of({matrix.device()}, 33, n_rows), kRowsMax);
    const auto n = at(n_rows) * 33;
    const std::vector<float> alone = download(out_);
    EXPECT_TRUE(same_bits(std::span(alone).first(n), std::span(together).first(n)))
        << n_rows << " rows";
  }
}

TEST_F(ProductTest, EmbeddingIsTheRowOfTheTokenBitForBit) {
  const std::vector<int32_t> tokens = {6, 0, 6, 199, 3};
  constexpr int32_t kUsed = 4;  // of them
  const auto device_tokens = upload(tokens);
  const auto counts = upload(std::vector<StepCounts>{{.n_rows = kUsed}});
  for (const WeightFormat format : kFormats) {
    const UploadedMatrix table(stream(), shape_of(format, 200), 3);
    const auto out = poisoned<float>(5 * kIn);
    embed(stream(),
          {.step = {.counts = counts.data(), .tokens = device_tokens.data()},
           .table = table.device(),
           .out = out.data()},
          5);
    const std::vector<float> found = download(out);
    for (int32_t r = 0; r < kUsed; ++r) {
      EXPECT_TRUE(same_bits(std::span(found).subspan(at(r) * kIn, kIn), table.row(tokens[at(r)])))
          << name(format) << ", row " << r;
    }
    EXPECT_TRUE(std::isnan(found[at(kUsed) * kIn])) << name(format);
  }
}

}  // namespace
}  // namespace slip::cuda
