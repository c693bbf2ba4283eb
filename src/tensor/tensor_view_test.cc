#include "tensor/tensor_view.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/error.h"

namespace slip {
namespace {

// The bits behind one stray byte, so that no element is aligned.
template <class Bits>
struct Misaligned {
  std::vector<std::byte> memory;
  TensorView view;

  Misaligned(DType dtype, std::vector<Bits> bits) : memory(1 + bits.size() * sizeof(Bits)) {
    std::memcpy(memory.data() + 1, bits.data(), bits.size() * sizeof(Bits));
    view = {
        dtype, {static_cast<int64_t>(bits.size())}, memory.data() + 1, bits.size() * sizeof(Bits)};
  }
};

TEST(TensorView, CountsTheElementsOfItsShape) {
  EXPECT_EQ((TensorView{.shape = {2, 3, 4}}.n_elements()), 24);
  EXPECT_EQ((TensorView{.shape = {5, 0}}.n_elements()), 0);
}

TEST(TensorView, IsOneElementWithoutAShape) { EXPECT_EQ(TensorView{}.n_elements(), 1); }

TEST(DescribeShape, ListsTheSizes) {
  EXPECT_EQ(describe_shape({8192, 384}), "[8192, 384]");
  EXPECT_EQ(describe_shape({7}), "[7]");
  EXPECT_EQ(describe_shape({}), "[]");
}

TEST(ToFloats, ReadsF32AtAnyAddress) {
  const Misaligned<float> tensor(DType::kF32, {1.5f, -2.0f, 0x1p-126f});
  EXPECT_EQ(to_floats(tensor.view), (std::vector<float>{1.5f, -2.0f, 0x1p-126f}));
}

TEST(ToFloats, ReadsF16AtAnyAddress) {
  const Misaligned<uint16_t> tensor(DType::kF16, {0x3C00, 0xC100, 0x0001});
  EXPECT_EQ(to_floats(tensor.view), (std::vector<float>{1.0f, -2.5f, 0x1p-24f}));
}

TEST(ToFloats, ReadsBf16AtAnyAddress) {
  const Misaligned<uint16_t> tensor(DType::kBF16, {0x3F80, 0xC020, 0x4049});
  EXPECT_EQ(to_floats(tensor.view), (std::vector<float>{1.0f, -2.5f, 3.140625f}));
}

TEST(ToFloats, NamesTheTypeItCannotRead) {
  const Misaligned<uint32_t> tensor(DType::kU32, {1});
  try {
    to_floats(tensor.view);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupportedModel);
    EXPECT_NE(std::string_view(error.what()).find("U32"), std::string_view::npos);
  }
}

}  // namespace
}  // namespace slip
