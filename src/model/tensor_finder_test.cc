// Tensors of a small file found, refused and rearranged.
#include "model/tensor_finder.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A folder with the tensors that a test adds.
class FileOf {
 public:
  explicit FileOf(const char* config = "{}") : config_(config) {}

  template <class T>
  void add(const std::string& name, DType dtype, std::vector<int64_t> shape,
           const std::vector<T>& values) {
    auto& bytes = bytes_.emplace_back(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    tensors_.push_back({name, {dtype, std::move(shape), bytes.data(), bytes.size()}});
  }
  void add_affine4(const std::string& module, int64_t n_out, float scale) {
    add(module + ".weight", DType::kU32, {n_out, 4}, words(4 * n_out));
    add(module + ".scales", DType::kF32, {n_out, 1}, floats(n_out, scale));
    add(module + ".biases", DType::kF32, {n_out, 1}, floats(n_out, 0));
  }
  void add_fp8(const std::string& module, int64_t n_out, DType codes = DType::kF8E4M3) {
    add(module + ".weight", codes, {n_out, 8},
        std::vector<uint8_t>(static_cast<size_t>(8 * n_out), 0x38));
    add(module + ".weight_scale_inv", DType::kF32, {(n_out + 127) / 128, 1},
        floats((n_out + 127) / 128, 2));
  }

  static std::vector<float> floats(int64_t n, float value) {
    return std::vector<float>(static_cast<size_t>(n), value);
  }
  static std::vector<float> counted(int64_t n) {
    std::vector<float> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    return values;
  }
  static std::vector<uint32_t> words(int64_t n) {
    std::vector<uint32_t> values(static_cast<size_t>(n));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(0x9E3779B9u * i);
    return values;
  }

  TensorFinder finder() {
    write_safetensors(folder_.path() / "model.safetensors", tensors_);
    std::ofstream(folder_.path() / "config.json") << config_;
    file_ = ModelFile::open(folder_.path());
    return TensorFinder(file_, owned_);
  }

  template <class Call>
  std::string message(Call call) {
    return test::message_of([&] {
      TensorFinder found = finder();
      call(found);
    });
  }

 private:
  const char* config_;
  test::TemporaryFolder folder_;
  std::deque<std::vector<std::byte>> bytes_;
  std::vector<NamedTensor> tensors_;
  ModelFile file_;
  OwnedBytes owned_;
};

std::vector<float> row_of(const WeightView& weight, int32_t row) {
  std::vector<float> values(static_cast<size_t>(weight.n_in));
  dequantize_row(weight, row, values);
  return values;
}

constexpr const char* kAffine4 = R"({"quantization": {"bits": 4, "group_size": 32}})";

TEST(TensorFinder, KnowsPlainFloatsOfEveryWidth) {
  FileOf file;
  file.add<float>("a.weight", DType::kF32, {2, 2}, {1, 2, 3, 4});
  file.add<uint16_t>("b.weight", DType::kF16, {1, 2}, {0x3C00, 0xC000});
  file.add<uint16_t>("c.weight", DType::kBF16, {1, 2}, {0x3F80, 0xC000});
  TensorFinder finder = file.finder();
  EXPECT_EQ(row_of(finder.matrix("a", 2, 2), 1), (std::vector<float>{3, 4}));
  EXPECT_EQ(row_of(finder.matrix("b", 1, 2), 0), (std::vector<float>{1, -2}));
  EXPECT_EQ(row_of(finder.matrix("c", 1, 2), 0), (std::vector<float>{1, -2}));
}

TEST(TensorFinder, FindsAffineCodesWithTheirScales) {
  FileOf file(kAffine4);
  file.add_affine4("m", 2, 0.5f);
  TensorFinder finder = file.finder();
  const WeightView weight = finder.matrix("m", 2, 32);
  EXPECT_EQ(weight.format, WeightFormat::kAffine4);
  EXPECT_EQ(weight.scale_type, DType::kF32);
  EXPECT_EQ(row_of(weight, 0)[8], 0.5f * (0x9E3779B9u & 15u));
  EXPECT_TRUE(finder.unused().empty());
}

TEST(TensorFinder, FindsFp8CodesWithTheScalesOfTheirBlocks) {
  FileOf file;
  file.add_fp8("m", 130);
  TensorFinder finder = file.finder();
  EXPECT_EQ(row_of(finder.matrix("m", 130, 8), 129)[7], 2.0f);
}

TEST(TensorFinder, SplitsNothingOffAStack) {
  FileOf file(kAffine4);
  file.add("m.weight", DType::kU32, {3, 2, 4}, FileOf::words(24));
  file.add("m.scales", DType::kF32, {3, 2, 1}, FileOf::counted(6));
  file.add("m.biases", DType::kF32, {3, 2, 1}, FileOf::floats(6, 0));
  TensorFinder finder = file.finder();
  const WeightView stack = finder.stacked_matrix("m", 3, 2, 32);
  EXPECT_EQ(stack.n_out, 6);
  EXPECT_EQ(row_of(slice_rows(stack, 4, 2), 1)[0], 5.0f * (0x9E3779B9u * 20 & 15u));
}

TEST(TensorFinder, TurnsAStackThatIsSavedTheOtherWayRound) {
  FileOf file;
  file.add("experts", DType::kF32, {2, 3, 2}, FileOf::counted(12));  // [n, n_in, n_out]
  file.add("straight", DType::kF32, {2, 2, 3}, FileOf::counted(12));
  TensorFinder finder = file.finder();
  EXPECT_EQ(row_of(finder.stacked_tensor("experts", 2, 2, 3), 3), (std::vector<float>{7, 9, 11}));
  EXPECT_EQ(row_of(finder.stacked_tensor("straight", 2, 2, 3), 3), (std::vector<float>{9, 10, 11}));
}

TEST(TensorFinder, ReordersRowsWithTheirScales) {
  FileOf file(kAffine4);
  file.add_affine4("m", 3, 1);
  TensorFinder finder = file.finder();
  const WeightView weight = finder.matrix("m", 3, 32);
  const std::vector<int32_t> rows = {2, 0};
  const WeightView reordered = finder.reorder_rows("m", weight, rows);
  EXPECT_EQ(reordered.n_out, 2);
  EXPECT_EQ(row_of(reordered, 0), row_of(weight, 2));
  EXPECT_EQ(row_of(reordered, 1), row_of(weight, 0));
}

TEST(TensorFinder, ReordersFp8InWholeBlocksOnly) {
  FileOf file;
  file.add_fp8("m", 256);
  TensorFinder finder = file.finder();
  const WeightView weight = finder.matrix("m", 256, 8);
  std::vector<int32_t> rows(128);
  for (int32_t i = 0; i < 128; ++i) rows[static_cast<size_t>(i)] = 128 + i;
  EXPECT_EQ(finder.reorder_rows("m", weight, rows).n_out, 128);
  std::swap(rows[0], rows[1]);
  EXPECT_EQ(file.message([&](TensorFinder& f) { f.reorder_rows("m", weight, rows); }),
            "m: its heads do not fill whole FP8 blocks of 128 rows, which is expected here");
}

TEST(TensorFinder, AcceptsConvolutionsOfBothLayouts) {
  FileOf file;
  file.add("hf", DType::kF32, {2, 1, 4}, FileOf::counted(8));
  file.add("mlx", DType::kF32, {2, 4, 1}, FileOf::counted(8));
  TensorFinder finder = file.finder();
  EXPECT_EQ(finder.vector("hf", {2, 4}), finder.vector("mlx", {2, 4}));
}

TEST(TensorFinder, NamesWhatNobodyAskedFor) {
  FileOf file;
  file.add("a", DType::kF32, {1}, FileOf::floats(1, 0));
  file.add("b", DType::kF32, {1}, FileOf::floats(1, 0));
  TensorFinder finder = file.finder();
  finder.vector("a", {1});
  EXPECT_EQ(finder.unused(), std::vector<std::string>{"b"});
}

TEST(TensorFinder, RefusesWrongShapesAndTypesByName) {
  FileOf file(kAffine4);
  file.add("a.weight", DType::kF32, {2, 3}, FileOf::floats(6, 0));
  file.add("b.weight", DType::kI8, {2, 2}, std::vector<int8_t>(4));
  file.add("c.weight", DType::kF8E4M3, {2, 2}, std::vector<uint8_t>(4));
  file.add_fp8("d", 8, DType::kF8E5M2);
  file.add("e.weight", DType::kU32, {1, 8}, FileOf::words(8));
  file.add("e.scales", DType::kF32, {1, 1}, FileOf::floats(1, 1));
  file.add("e.biases", DType::kF32, {1, 1}, FileOf::floats(1, 1));
  const auto message = [&](const char* module, int32_t n_out, int32_t n_in) {
    return file.message([&](TensorFinder& finder) { finder.matrix(module, n_out, n_in); });
  };
  EXPECT_EQ(message("a", 2, 2), "a.weight: shape [2, 3], expected [2, 2]");
  EXPECT_EQ(message("b", 2, 2),
            "b.weight: type I8, supported here is F32, F16 or BF16 (F8_E4M3 with a "
            "weight_scale_inv beside it)");
  EXPECT_EQ(message("c", 2, 2),
            "c.weight: type F8_E4M3, supported here is F32, F16 or BF16 (F8_E4M3 with a "
            "weight_scale_inv beside it)");
  EXPECT_EQ(message("d", 8, 8), "d.weight: type F8_E5M2, supported here is F8_E4M3");
  // The configuration says 4 bits, the codes are 8 bits wide.
  EXPECT_EQ(message("e", 1, 32), "e.weight: shape [1, 8], expected [1, 4]");
  EXPECT_EQ(message("e", 1, 48), "e: 48 columns, expected a multiple of the group size 32");
}

TEST(TensorFinder, RefusesScalesThatAreNotFinite) {
  FileOf file(kAffine4);
  file.add_affine4("a", 2, kNan);
  file.add("v", DType::kF32, {2}, std::vector<float>{1, kNan});
  EXPECT_EQ(file.message([](TensorFinder& finder) { finder.matrix("a", 2, 32); }),
            "a.scales: element 0 is nan, expected finite values");
  EXPECT_EQ(file.message([](TensorFinder& finder) { finder.vector("v", {2}); }),
            "v: element 1 is nan, expected finite values");
}

}  // namespace
}  // namespace slip
