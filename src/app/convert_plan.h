// What `convert` makes of each tensor of a checkpoint. Pure: nothing is read but names and shapes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/options.h"
#include "io/model_file.h"
#include "io/safetensors.h"
#include "model/weights.h"
#include "tensor/tensor_view.h"

namespace slip {

// From "PATTERN=BITS" or "PATTERN=none". Throws Error{kInvalidArgument}.
BitsOverride parse_override(const std::string& text);

struct ConvertRules {
  int32_t bits = 4;
  int32_t group_size = 64;
  std::vector<BitsOverride> overrides;
};

// A tensor of the new file, or the three of a quantised matrix.
struct ConvertedTensor {
  std::string name;               // of the module where `is_matrix`, else of the tensor
  bool is_matrix = false;         // [..., n_out, n_in]
  std::vector<int64_t> shape;     // in elements
  std::vector<TensorView> parts;  // one behind the other they are the tensor; views into the file
  int32_t bits = 0;               // 0: stays as it is
  int32_t group_size = 0;
};

struct ConvertPlan {
  std::vector<ConvertedTensor> tensors;  // by name
  int32_t n_quantised = 0;
  int32_t n_kept_matrices = 0;
  std::vector<std::string> dropped;  // tensors of the source that no part of the model uses
};

// Every matrix is quantised, the embedding and the draft head's included, except
//   - the router and the shared expert's gate: 8 bits in groups of 64, as mlx-lm has them, because
//     one wrong choice of an expert costs more than they weigh;
//   - in_proj_a, in_proj_b, in_proj_ba, which stay as they are: they set how fast a recurrent state
//     forgets, an error there grows with the context, and they are a thousandth of the bytes;
//   - matrices whose rows the group size does not divide, which MLX cannot hold.
// Names become those of MLX (specification 8.1); experts become one stack per projection. Values of
// everything else stay: norms keep the form, zero-centred or not, that the source has, and the
// convolution its axes, by which both this program and mlx-lm know the form.
//
// Throws Error{kUnsupportedModel} for a source that is already quantised or stores its experts
// transposed, Error{kInvalidArgument} for an override that matches no matrix.
ConvertPlan plan_conversion(const ModelFile& file, const LoadedModel& model,
                            const ConvertRules& rules);

// The tensors that it becomes: weight, scales, biases in the order they are written.
std::vector<TensorSpec> specs_of(const ConvertedTensor& tensor);

// config.json of the new model: the source's, with "quantization" as MLX reads it, under the second
// name, too, that older readers know.
nlohmann::ordered_json make_config(nlohmann::ordered_json source, const ConvertPlan& plan,
                                   const ConvertRules& rules);

}  // namespace slip
