#include "model/tensor_finder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "model/quantization.h"

namespace slip {

namespace {

using Shape = std::vector<int64_t>;

[[noreturn]] void refuse_shape(const std::string& name, const Shape& found, const Shape& wanted) {
  throw Error(ErrorCode::kCorruptFile,
              name + ": shape " + describe_shape(found) + ", expected " + describe_shape(wanted));
}

[[noreturn]] void refuse_type(const std::string& name, DType found, const std::string& wanted) {
  throw Error(ErrorCode::kUnsupportedModel,
              name + ": type " + std::string(slip::name(found)) + ", supported here is " + wanted);
}

WeightFormat plain_format(const std::string& tensor, DType type) {
  switch (type) {
    case DType::kF32:
      return WeightFormat::kF32;
    case DType::kF16:
      return WeightFormat::kF16;
    case DType::kBF16:
      return WeightFormat::kBF16;
    default:
      refuse_type(tensor, type, "F32, F16 or BF16 (F8_E4M3 with a weight_scale_inv beside it)");
  }
}

std::vector<float> finite_floats(const std::string& name, const TensorView& view) {
  if (!is_plain_float(view.dtype)) refuse_type(name, view.dtype, "F32, F16 or BF16");
  std::vector<float> values = to_floats(view);
  const auto bad = std::ranges::find_if(values, [](float v) { return !std::isfinite(v); });
  if (bad == values.end()) return values;
  throw Error(ErrorCode::kCorruptFile, name + ": element " + std::to_string(bad - values.begin()) +
                                           " is " + std::to_string(*bad) +
                                           ", expected finite values");
}

Shape with_lead(const Shape& lead, int64_t n_out, int64_t n_in) {
  Shape shape = lead;
  shape.push_back(n_out);
  shape.push_back(n_in);
  return shape;
}

// Rows of all stacked matrices together; views count them in 32 bits.
int32_t total_rows(const std::string& name, const Shape& lead, int32_t n_out) {
  int64_t n = n_out;
  for (const int64_t size : lead) n *= size;
  if (n <= INT32_MAX) return static_cast<int32_t>(n);
  throw Error(ErrorCode::kUnsupportedModel, name + ": " + std::to_string(n) +
                                                " rows in all, supported are at most " +
                                                std::to_string(INT32_MAX));
}

int64_t ceil_div(int64_t n, int64_t by) { return (n + by - 1) / by; }

}  // namespace

TensorFinder::TensorFinder(const ModelFile& file, OwnedBytes& owned) : file_(file), owned_(owned) {
  require_known_quantization(file.config());
}

bool TensorFinder::has(const std::string& name) const { return file_.tensors().contains(name); }

std::string TensorFinder::choose_prefix(std::span<const std::string_view> prefixes,
                                        std::string_view name) const {
  std::string tried;
  for (const std::string_view prefix : prefixes) {
    const std::string full = std::string(prefix) + std::string(name);
    if (has(full)) return std::string(prefix);
    tried += (tried.empty() ? "" : ", ") + full;
  }
  throw Error(ErrorCode::kCorruptFile,
              file_.folder().string() + ": no tensor is named any of " + tried);
}

const TensorView& TensorFinder::take(const std::string& name) {
  const auto it = file_.tensors().find(name);
  if (it == file_.tensors().end()) {
    throw Error(ErrorCode::kCorruptFile,
                file_.folder().string() + ": tensor " + name + " is missing");
  }
  taken_.insert(name);
  return it->second;
}

const TensorView& TensorFinder::take_scales(const std::string& name, const Shape& shape) {
  const TensorView& scales = take(name);
  if (scales.shape != shape) refuse_shape(name, scales.shape, shape);
  finite_floats(name, scales);
  return scales;
}

WeightView TensorFinder::matrix(const std::string& module, int32_t n_out, int32_t n_in) {
  return find(module, {}, n_out, n_in);
}

WeightView TensorFinder::stacked_matrix(const std::string& module, int32_t n, int32_t n_out,
                                        int32_t n_in) {
  return find(module, {n}, n_out, n_in);
}

WeightView TensorFinder::find(const std::string& module, const Shape& lead, int32_t n_out,
                              int32_t n_in) {
  const WeightView view{.n_out = total_rows(module, lead, n_out), .n_in = n_in};
  if (has(module + ".scales")) return affine_matrix(module, lead, n_out, view);
  if (has(module + ".weight_scale_inv")) return fp8_matrix(module, lead, n_out, view);
  return plain_matrix(module + ".weight", with_lead(lead, n_out, n_in), view);
}

WeightView TensorFinder::plain_matrix(const std::string& name, const Shape& shape,
                                      WeightView view) {
  const TensorView& tensor = take(name);
  view.format = plain_format(name, tensor.dtype);
  if (tensor.shape != shape) refuse_shape(name, tensor.shape, shape);
  view.data = tensor.data;
  return view;
}

WeightView TensorFinder::affine_matrix(const std::string& module, const Shape& lead, int32_t n_out,
                                       WeightView view) {
  const AffineParameters parameters = read_affine(file_.config(), module);
  if (view.n_in % parameters.group_size != 0) {
    throw Error(ErrorCode::kUnsupportedModel,
                module + ": " + std::to_string(view.n_in) +
                    " columns, expected a multiple of the group size " +
                    std::to_string(parameters.group_size));
  }
  const TensorView& codes = take(module + ".weight");
  if (codes.dtype != DType::kU32) refuse_type(module + ".weight", codes.dtype, "U32");
  const Shape code_shape = with_lead(lead, n_out, int64_t{view.n_in} * parameters.bits / 32);
  if (codes.shape != code_shape) refuse_shape(module + ".weight", codes.shape, code_shape);

  const Shape group_shape = with_lead(lead, n_out, view.n_in / parameters.group_size);
  const TensorView& scales = take_scales(module + ".scales", group_shape);
  const TensorView& biases = take_scales(module + ".biases", group_shape);
  if (biases.dtype != scales.dtype)
    refuse_type(module + ".biases", biases.dtype, "the type of its scales");
  view.format = *affine_format(parameters.bits);
  view.scale_type = scales.dtype;
  view.group_size = parameters.group_size;
  view.data = codes.data;
  view.scales = scales.data;
  view.biases = biases.data;
  return view;
}

WeightView TensorFinder::fp8_matrix(const std::string& module, const Shape& lead, int32_t n_out,
                                    WeightView view) {
  const TensorView& codes = take(module + ".weight");
  if (codes.dtype != DType::kF8E4M3) refuse_type(module + ".weight", codes.dtype, "F8_E4M3");
  const Shape shape = with_lead(lead, n_out, view.n_in);
  if (codes.shape != shape) refuse_shape(module + ".weight", codes.shape, shape);
  if (!lead.empty() && n_out % kFp8BlockRows != 0)
    refuse_shape(module + ".weight", codes.shape, with_lead(lead, kFp8BlockRows, view.n_in));
  const TensorView& scales = take_scales(
      module + ".weight_scale_inv",
      with_lead(lead, ceil_div(n_out, kFp8BlockRows), ceil_div(view.n_in, kFp8BlockColumns)));
  view.format = WeightFormat::kFp8Block;
  view.scale_type = scales.dtype;
  view.group_size = kFp8BlockColumns;
  view.data = codes.data;
  view.scales = scales.data;
  return view;
}

WeightView TensorFinder::stacked_tensor(const std::string& name, int32_t n, int32_t n_out,
                                        int32_t n_in) {
  WeightView view{.n_out = total_rows(name, {n}, n_out), .n_in = n_in};
  const Shape turned{n, n_in, n_out};
  const auto it = file_.tensors().find(name);
  const bool is_turned = n_in != n_out && it != file_.tensors().end() && it->second.shape == turned;
  if (!is_turned) return plain_matrix(name, {n, n_out, n_in}, view);

  view = plain_matrix(name, turned, view);
  const size_t size = element_bytes(it->second.dtype);
  const auto rows = static_cast<size_t>(n_out), columns = static_cast<size_t>(n_in);
  std::vector<std::byte>& bytes = owned_.emplace_back(it->second.n_bytes);
  for (size_t m = 0; m < static_cast<size_t>(n); ++m) {
    const size_t first = m * rows * columns;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t c = 0; c < columns; ++c) {
        std::memcpy(bytes.data() + (first + r * columns + c) * size,
                    view.data + (first + c * rows + r) * size, size);
      }
    }
  }
  view.data = bytes.data();
  return view;
}

WeightView TensorFinder::reorder_rows(const std::string& module, const WeightView& weight,
                                      std::span<const int32_t> rows) {
  const bool is_in_blocks = weight.format == WeightFormat::kFp8Block;
  const int32_t unit = is_in_blocks ? kFp8BlockRows : 1;
  const auto gather = [&](const std::byte* from, size_t row_bytes, int32_t step) {
    std::vector<std::byte>& bytes =
        owned_.emplace_back(row_bytes * (rows.size() / static_cast<size_t>(step)));
    std::byte* to = bytes.data();
    for (size_t i = 0; i < rows.size(); i += static_cast<size_t>(step), to += row_bytes) {
      std::memcpy(to, from + static_cast<size_t>(rows[i] / step) * row_bytes, row_bytes);
    }
    return bytes.data();
  };
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto within = static_cast<int32_t>(i) % unit;
    if (rows[i] % unit == within && rows.size() % static_cast<size_t>(unit) == 0) continue;
    throw Error(ErrorCode::kUnsupportedModel,
                module + ": its heads do not fill whole FP8 blocks of " + std::to_string(unit) +
                    " rows, which is expected here");
  }
  WeightView view = weight;
  view.n_out = static_cast<int32_t>(rows.size());
  view.data = gather(weight.data, weight.row_bytes(), 1);
  if (weight.scales != nullptr) view.scales = gather(weight.scales, weight.scale_row_bytes(), unit);
  if (weight.biases != nullptr) view.biases = gather(weight.biases, weight.scale_row_bytes(), unit);
  return view;
}

std::vector<float> TensorFinder::vector(const std::string& name, const Shape& shape) {
  const TensorView& tensor = take(name);
  // A convolution weight is [channels, 1, taps] in Hugging Face files and [channels, taps, 1] in
  // MLX ones: same values.
  Shape found = tensor.shape;
  if (shape.size() < found.size()) std::erase(found, 1);
  if (found != shape) refuse_shape(name, tensor.shape, shape);
  return finite_floats(name, tensor);
}

std::vector<std::string> TensorFinder::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file_.tensors()) {
    if (!taken_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace slip
