#include "model/tensor_finder.h"

#include <algorithm>

#include "base/error.h"
#include "model/config_reader.h"

namespace slip {

namespace {

using Shape = std::vector<int64_t>;

[[noreturn]] void refuse_shape(const std::string& name, const Shape& found, const Shape& wanted) {
  throw Error(ErrorCode::kCorruptFile,
              name + ": shape " + describe_shape(found) + ", expected " + describe_shape(wanted));
}

void require_type(const std::string& tensor, DType found, DType wanted) {
  if (found == wanted) return;
  throw Error(ErrorCode::kUnsupportedModel, tensor + ": type " + std::string(name(found)) +
                                                ", supported here is " + std::string(name(wanted)));
}

// What `quantization` in config.json says of one module.
struct AffineParameters {
  int32_t group_size = 64;
  int32_t bits = 8;
};

// The module's own entry decides; without one the global parameters do.
AffineParameters read_affine(const nlohmann::json& config, const std::string& module) {
  const ConfigReader root(config, "config.json");
  if (!root.has("quantization")) {
    throw Error(
        ErrorCode::kUnsupportedModel,
        module + ": has scales, but config.json has no \"quantization\" that says how they apply");
  }
  const ConfigReader global = root.child("quantization");
  const bool has_own =
      config["quantization"].contains(module) && config["quantization"][module].is_object();
  const ConfigReader reader = has_own ? global.child(module) : global;
  reader.require_text("mode", "affine", {"affine"});
  const AffineParameters parameters{
      .group_size =
          reader.integer_or("group_size", global.integer_or("group_size", 64, 1, 1024), 1, 1024),
      .bits = reader.integer_or("bits", global.integer_or("bits", 8, 1, 8), 1, 8)};
  if (parameters.bits != 8) reader.refuse("bits", "8, the width this version reads");
  return parameters;
}

}  // namespace

TensorFinder::TensorFinder(const ModelFile& file) : file_(file) {}

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

WeightView TensorFinder::matrix(const std::string& module, int32_t n_out, int32_t n_in) {
  if (has(module + ".scales")) return affine_matrix(module, n_out, n_in);
  const std::string name = module + ".weight";
  const TensorView& tensor = take(name);
  if (tensor.dtype != DType::kF32) require_type(name, tensor.dtype, DType::kBF16);
  if (tensor.shape != Shape{n_out, n_in}) refuse_shape(name, tensor.shape, {n_out, n_in});
  return {.format = tensor.dtype == DType::kF32 ? WeightFormat::kF32 : WeightFormat::kBF16,
          .n_out = n_out,
          .n_in = n_in,
          .data = tensor.data};
}

WeightView TensorFinder::affine_matrix(const std::string& module, int32_t n_out, int32_t n_in) {
  const AffineParameters parameters = read_affine(file_.config(), module);
  const TensorView& codes = take(module + ".weight");
  const TensorView& scales = take(module + ".scales");
  const TensorView& biases = take(module + ".biases");
  require_type(module + ".weight", codes.dtype, DType::kU32);
  require_type(module + ".scales", scales.dtype, DType::kBF16);
  require_type(module + ".biases", biases.dtype, DType::kBF16);

  const int64_t codes_per_word = 32 / parameters.bits;
  if (n_in % codes_per_word != 0 || n_in % parameters.group_size != 0) {
    throw Error(ErrorCode::kUnsupportedModel,
                module + ": " + std::to_string(n_in) +
                    " columns, expected a multiple of the group size " +
                    std::to_string(parameters.group_size));
  }
  const Shape code_shape{n_out, n_in / codes_per_word};
  const Shape group_shape{n_out, n_in / parameters.group_size};
  if (codes.shape != code_shape) refuse_shape(module + ".weight", codes.shape, code_shape);
  if (scales.shape != group_shape) refuse_shape(module + ".scales", scales.shape, group_shape);
  if (biases.shape != group_shape) refuse_shape(module + ".biases", biases.shape, group_shape);
  return {.format = WeightFormat::kAffine8,
          .n_out = n_out,
          .n_in = n_in,
          .group_size = parameters.group_size,
          .data = codes.data,
          .scales = scales.data,
          .biases = biases.data};
}

std::vector<float> TensorFinder::vector(const std::string& name, const Shape& shape) {
  const TensorView& tensor = take(name);
  // A convolution weight is [channels, 1, taps] in Hugging Face files and [channels, taps, 1] in
  // MLX ones: same values.
  Shape found = tensor.shape;
  if (shape.size() < found.size()) std::erase(found, 1);
  if (found != shape) refuse_shape(name, tensor.shape, shape);
  return to_floats(tensor);
}

std::vector<std::string> TensorFinder::unused() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : file_.tensors()) {
    if (!taken_.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace slip
