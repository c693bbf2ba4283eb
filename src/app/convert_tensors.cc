#include "app/convert_tensors.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "app/interrupt.h"
#include "base/error.h"
#include "tensor/quant.h"
#include "tensor/quantize.h"

namespace slip {

namespace {

constexpr size_t kChunkValues = size_t{1} << 20;  // quantised between two writes

// Rows of all parts, counted through.
class Rows {
 public:
  explicit Rows(const ConvertedTensor& tensor)
      : parts_(tensor.parts), n_in_(static_cast<size_t>(tensor.shape.back())) {
    size_t n_values = 1;
    for (const int64_t size : tensor.shape) n_values *= static_cast<size_t>(size);
    n_rows_ = n_values / n_in_;
    rows_per_part_ = n_rows_ / parts_.size();
  }

  size_t n_rows() const { return n_rows_; }
  size_t n_in() const { return n_in_; }

  void read(size_t row, std::span<float> values) const {
    const TensorView& part = parts_[row / rows_per_part_];
    const size_t first = row % rows_per_part_ * n_in_;
    for (size_t i = 0; i < n_in_; ++i) values[i] = load_float(part.dtype, part.data, first + i);
  }

 private:
  const std::vector<TensorView>& parts_;
  size_t n_in_, n_rows_, rows_per_part_;
};

class TensorWriter {
 public:
  TensorWriter(ModelWriter& writer, ThreadPool& pool) : writer_(writer), pool_(pool) {}

  bool write(const ConvertedTensor& tensor) {
    if (tensor.bits > 0) return write_quantised(tensor);
    for (const TensorView& part : tensor.parts) {
      if (is_interrupted()) return false;
      writer_.write({part.data, part.n_bytes});
    }
    return true;
  }

 private:
  bool write_quantised(const ConvertedTensor& tensor) {
    const Rows rows(tensor);
    const size_t n_groups = rows.n_in() / static_cast<size_t>(tensor.group_size);
    scales_.resize(rows.n_rows() * n_groups);
    biases_.resize(scales_.size());
    const size_t chunk_rows = std::max<size_t>(1, kChunkValues / rows.n_in());
    for (size_t begin = 0; begin < rows.n_rows(); begin += chunk_rows) {
      if (is_interrupted()) return false;
      quantise(tensor, rows, begin, std::min(chunk_rows, rows.n_rows() - begin));
      writer_.write(codes_);
    }
    writer_.write(std::as_bytes(std::span(scales_)));
    writer_.write(std::as_bytes(std::span(biases_)));
    return true;
  }

  void quantise(const ConvertedTensor& tensor, const Rows& rows, size_t begin, size_t n_rows) {
    const size_t row_bytes = rows.n_in() * static_cast<size_t>(tensor.bits) / 8;
    const size_t n_groups = rows.n_in() / static_cast<size_t>(tensor.group_size);
    codes_.resize(n_rows * row_bytes);
    values_.resize(static_cast<size_t>(pool_.n_threads()) * rows.n_in());
    std::atomic<bool> is_finite = true;
    pool_.run(static_cast<int>(n_rows), [&](int item, int thread) {
      const auto i = static_cast<size_t>(item);
      const auto values =
          std::span(values_).subspan(static_cast<size_t>(thread) * rows.n_in(), rows.n_in());
      rows.read(begin + i, values);
      const AffineRow row{.codes = std::span(codes_).subspan(i * row_bytes, row_bytes),
                          .scales = std::span(scales_).subspan((begin + i) * n_groups, n_groups),
                          .biases = std::span(biases_).subspan((begin + i) * n_groups, n_groups)};
      if (!quantize_row(values, tensor.bits, tensor.group_size, row)) is_finite = false;
    });
    if (!is_finite) {
      throw Error(ErrorCode::kCorruptFile,
                  tensor.name + ": found a value that is not finite, wanted finite weights");
    }
  }

  ModelWriter& writer_;
  ThreadPool& pool_;
  std::vector<float> values_;     // [n_threads, n_in]
  std::vector<std::byte> codes_;  // of one chunk
  std::vector<BFloat16> scales_, biases_;
};

}  // namespace

bool write_tensors(const ConvertPlan& plan, ModelWriter& writer, ThreadPool& pool) {
  TensorWriter tensors(writer, pool);
  for (const ConvertedTensor& tensor : plan.tensors) {
    if (!tensors.write(tensor)) return false;
  }
  writer.commit();
  return true;
}

}  // namespace slip
