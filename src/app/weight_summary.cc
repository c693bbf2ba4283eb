#include "app/weight_summary.h"

#include <array>
#include <set>

namespace slip {

namespace {

class Summary {
 public:
  void add(const WeightView& matrix) {
    if (matrix.data == nullptr || !seen_.insert(matrix.data).second) return;
    FormatSum& sum = sums_[static_cast<size_t>(matrix.format)];
    ++sum.n_matrices;
    sum.n_bytes += static_cast<int64_t>(matrix.n_bytes());
  }

  void add(const LayerWeights& layer) {
    const auto visit = [this](const WeightView& matrix) { add(matrix); };
    for_each_matrix(layer, visit);
    for (const FfnWeights& expert : layer.experts.experts) for_each_matrix(expert, visit);
  }

  std::vector<FormatSum> result() const {
    std::vector<FormatSum> result;
    for (size_t i = 0; i < sums_.size(); ++i) {
      if (sums_[i].n_matrices == 0) continue;
      result.push_back(sums_[i]);
      result.back().format = static_cast<WeightFormat>(i);
    }
    return result;
  }

 private:
  std::array<FormatSum, kWeightFormatCount> sums_;
  std::set<const std::byte*> seen_;
};

}  // namespace

std::vector<FormatSum> sum_trunk(const ModelWeights& weights) {
  Summary summary;
  summary.add(weights.embedding);
  summary.add(weights.head);
  for (const LayerWeights& layer : weights.layers) summary.add(layer);
  return summary.result();
}

std::vector<FormatSum> sum_draft_head(const ModelWeights& weights) {
  Summary summary;
  summary.add(weights.draft_head.fusion);
  summary.add(weights.draft_head.layer);
  return summary.result();
}

}  // namespace slip
