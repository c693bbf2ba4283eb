#include "tensor/tensor_view.h"

#include <cstring>

#include "base/check.h"
#include "base/error.h"

namespace slip {
namespace {

template <class Bits, class Convert>
std::vector<float> convert_elements(const TensorView& view, Convert convert) {
  std::vector<float> values(static_cast<size_t>(view.n_elements()));
  for (size_t i = 0; i < values.size(); ++i) {
    Bits bits;
    std::memcpy(&bits, view.data + i * sizeof(Bits), sizeof(Bits));
    values[i] = convert(bits);
  }
  return values;
}

}  // namespace

int64_t TensorView::n_elements() const {
  int64_t n = 1;
  for (const int64_t size : shape) n *= size;
  return n;
}

std::string describe_shape(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

std::vector<float> to_floats(const TensorView& view) {
  SLIP_CHECK(view.n_bytes == static_cast<size_t>(view.n_elements()) * element_bytes(view.dtype));
  switch (view.dtype) {
    case DType::kF32:
      return convert_elements<float>(view, [](float x) { return x; });
    case DType::kF16:
      return convert_elements<uint16_t>(view, half_to_float);
    case DType::kBF16:
      return convert_elements<BFloat16>(view, to_float);
    default:
      throw Error(ErrorCode::kUnsupportedModel,
                  "tensor of type " + std::string(name(view.dtype)) + ", wanted F32, F16 or BF16");
  }
}

}  // namespace slip
