// Finds the tensors of a checkpoint by name, checks type, shape and scales, and remembers which
// were taken.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/model_file.h"
#include "model/weights.h"
#include "tensor/quant.h"

namespace slip {

class TensorFinder {
 public:
  // `file` and `owned` outlive every view that the finder gives.
  // Throws Error{kUnsupportedModel} for a quantisation that is not known.
  TensorFinder(const ModelFile& file, OwnedBytes& owned);

  // The first prefix under which `name` exists in the file; throws Error{kCorruptFile} naming all
  // of them.
  std::string choose_prefix(std::span<const std::string_view> prefixes,
                            std::string_view name) const;
  bool has(const std::string& name) const;

  // The matrix of module `module` ("...q_proj"), in any WeightFormat. Throws Error{kCorruptFile}
  // for a missing tensor, a wrong shape or a scale that is not finite, Error{kUnsupportedModel} for
  // another format.
  WeightView matrix(const std::string& module, int32_t n_out, int32_t n_in);

  // `n` such matrices stored as one, [n, n_out, n_in] and its scales: matrix i is
  // slice_rows(result, i * n_out, n_out).
  WeightView stacked_matrix(const std::string& module, int32_t n, int32_t n_out, int32_t n_in);

  // The same without scales, by the full name of the tensor. [n, n_in, n_out], as some tools save
  // it, is turned into bytes of our own.
  WeightView stacked_tensor(const std::string& name, int32_t n, int32_t n_out, int32_t n_in);

  // Row i of the result is row `rows[i]` of `weight`: bytes of our own. Block FP8: rows come in
  // whole blocks of 128. Throws Error{kUnsupportedModel} naming `module` where they do not.
  WeightView reorder_rows(const std::string& module, const WeightView& weight,
                          std::span<const int32_t> rows);

  // All elements of tensor `name` as floats, all finite. Its shape is `shape`, give or take axes of
  // length 1.
  std::vector<float> vector(const std::string& name, const std::vector<int64_t>& shape);

  // Names of the file that nothing asked for.
  std::vector<std::string> unused() const;

 private:
  using Shape = std::vector<int64_t>;

  const TensorView& take(const std::string& name);
  const TensorView& take_scales(const std::string& name, const Shape& shape);
  // `lead` are the axes before [n_out, n_in]; n_rows is their product times n_out.
  WeightView find(const std::string& module, const Shape& lead, int32_t n_out, int32_t n_in);
  WeightView plain_matrix(const std::string& name, const Shape& shape, WeightView view);
  WeightView affine_matrix(const std::string& module, const Shape& lead, int32_t n_out,
                           WeightView view);
  WeightView fp8_matrix(const std::string& module, const Shape& lead, int32_t n_out,
                        WeightView view);

  const ModelFile& file_;
  OwnedBytes& owned_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace slip
