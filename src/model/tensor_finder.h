// Finds the tensors of a checkpoint by the names of the trunk, whichever published prefix they
// carry, checks type and shape, and remembers which were taken.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_file.h"
#include "tensor/quant.h"

namespace slip {

class TensorFinder {
 public:
  // `file` outlives the finder and every view it gives.
  explicit TensorFinder(const ModelFile& file);

  // The first prefix under which `name` exists in the file; throws Error{kCorruptFile} naming all
  // of them.
  std::string choose_prefix(std::span<const std::string_view> prefixes,
                            std::string_view name) const;
  bool has(const std::string& name) const;

  // The matrix of module `module` ("...q_proj"): F32 or BF16 [n_out, n_in], or MLX affine codes
  // with scales and biases. Throws Error{kCorruptFile} for a missing tensor or wrong shape,
  // Error{kUnsupportedModel} for another format.
  WeightView matrix(const std::string& module, int32_t n_out, int32_t n_in);

  // All elements of tensor `name` as floats. Its shape is `shape`, give or take axes of length 1.
  std::vector<float> vector(const std::string& name, const std::vector<int64_t>& shape);

  // Names of the file that nothing asked for.
  std::vector<std::string> unused() const;

 private:
  const TensorView& take(const std::string& name);
  WeightView affine_matrix(const std::string& module, int32_t n_out, int32_t n_in);

  const ModelFile& file_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace slip
