#include "app/convert_plan.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fnmatch.h>

#include "base/error.h"
#include "base/json.h"
#include "tensor/quant.h"
#include "text/ascii.h"

namespace slip {

namespace {

constexpr std::string_view kWeight = ".weight";

struct Default {
  std::string_view suffix;  // of the module
  int32_t bits;
  int32_t group_size;
};

constexpr std::array kDefaults = {
    Default{".mlp.gate", 8, 64}, Default{".shared_expert_gate", 8, 64}, Default{".in_proj_a", 0, 0},
    Default{".in_proj_b", 0, 0}, Default{".in_proj_ba", 0, 0},
};

// "....experts.17.gate_proj.weight"
struct ExpertName {
  std::string stack;  // "....switch_mlp.gate_proj"
  size_t expert;
};

std::optional<ExpertName> parse_expert(const std::string& name) {
  constexpr std::string_view kExperts = ".experts.";
  const size_t at = name.find(kExperts);
  if (at == std::string::npos || !name.ends_with(kWeight)) return std::nullopt;
  const size_t number = at + kExperts.size();
  const size_t dot = name.find('.', number);
  const bool is_number =
      dot > number && dot - number <= 6 &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(number),
                  name.begin() + static_cast<std::ptrdiff_t>(dot), is_ascii_digit);
  if (!is_number) return std::nullopt;
  const std::string projection = name.substr(dot, name.size() - kWeight.size() - dot);
  return ExpertName{.stack = name.substr(0, at) + ".switch_mlp" + projection,
                    .expert = std::stoul(name.substr(number, dot - number))};
}

// Rows [begin, begin + n) of the matrices that `stack` holds one behind the other.
TensorView slice(const TensorView& stack, int64_t begin, int64_t n) {
  const int64_t n_in = stack.shape.back();
  const size_t row_bytes = static_cast<size_t>(n_in) * element_bytes(stack.dtype);
  return {.dtype = stack.dtype,
          .shape = {n, n_in},
          .data = stack.data + static_cast<size_t>(begin) * row_bytes,
          .n_bytes = static_cast<size_t>(n) * row_bytes};
}

class Planner {
 public:
  Planner(const ModelFile& file, const LoadedModel& model, const ConvertRules& rules)
      : file_(file),
        model_(model),
        rules_(rules),
        has_nested_config_(file.config().contains("text_config")),
        is_used_(rules.overrides.size(), false) {}

  ConvertPlan plan() {
    ConvertPlan plan{.dropped = model_.unused};
    const std::set<std::string> dropped(plan.dropped.begin(), plan.dropped.end());
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!dropped.contains(name)) add(name, tensor);
    }
    for (auto& [name, tensor] : tensors_) {
      if (tensor.is_matrix) choose_bits(tensor);
      if (tensor.is_matrix) ++(tensor.bits > 0 ? plan.n_quantised : plan.n_kept_matrices);
      plan.tensors.push_back(std::move(tensor));
    }
    require_used_overrides();
    return plan;
  }

 private:
  // As mlx-lm names modules; what a flat configuration belongs to keeps its names there, too.
  std::string new_name(const std::string& name) const {
    constexpr std::string_view kHuggingFace = "model.language_model.";
    constexpr std::string_view kTop = "language_model.";
    if (!has_nested_config_ || name.starts_with(kTop)) return name;
    if (name.starts_with(kHuggingFace))
      return std::string(kTop) + "model." + name.substr(kHuggingFace.size());
    return std::string(kTop) + name;
  }

  void add(const std::string& name, const TensorView& tensor) {
    if (!is_plain_float(tensor.dtype)) {
      throw Error(ErrorCode::kUnsupportedModel,
                  name + ": found type " + std::string(slip::name(tensor.dtype)) +
                      ", wanted a checkpoint in F32, F16 or BF16 that is not quantised");
    }
    const std::string target = new_name(name);
    const auto n_experts = static_cast<size_t>(model_.config.experts.n_experts);
    const bool is_matrix = tensor.shape.size() == 2 && target.ends_with(kWeight);
    if (const std::optional<ExpertName> expert = parse_expert(target); expert && is_matrix) {
      if (expert->expert < n_experts) add_part(expert->stack, n_experts, expert->expert, tensor);
    } else if (target.ends_with(".experts.gate_up_proj")) {
      add_stack(target, {"gate_proj", "up_proj"}, tensor, model_.config.hidden_size);
    } else if (target.ends_with(".experts.down_proj")) {
      add_stack(target, {"down_proj"}, tensor, model_.config.experts.intermediate_size);
    } else if (is_matrix || (tensor.shape.size() == 3 && target.ends_with("_proj.weight"))) {
      // Three axes: a stack of experts as MLX has them.
      const std::string module = target.substr(0, target.size() - kWeight.size());
      tensors_[module] = {
          .name = module, .is_matrix = true, .shape = tensor.shape, .parts = {tensor}};
    } else {
      tensors_[target] = {.name = target, .shape = tensor.shape, .parts = {tensor}};
    }
  }

  void add_part(const std::string& module, size_t n_parts, size_t part, const TensorView& tensor) {
    ConvertedTensor& stack = tensors_[module];
    stack.name = module;
    stack.is_matrix = true;
    stack.shape = {static_cast<int64_t>(n_parts), tensor.shape[0], tensor.shape[1]};
    stack.parts.resize(n_parts);
    stack.parts[part] = tensor;
  }

  // One tensor that holds, for each expert, the rows of `projections` one behind the other.
  void add_stack(const std::string& name, const std::vector<std::string>& projections,
                 const TensorView& tensor, int64_t n_in) {
    const auto n_projections = static_cast<int64_t>(projections.size());
    const int64_t n_experts = tensor.shape[0];
    const int64_t n_out = tensor.shape[1] / n_projections;
    if (tensor.shape[2] != n_in) {
      throw Error(ErrorCode::kUnsupportedModel,
                  name + ": found shape " + describe_shape(tensor.shape) + ", wanted " +
                      describe_shape({n_experts, tensor.shape[2], n_in}) +
                      ": transposed experts are not converted");
    }
    const std::string prefix = name.substr(0, name.rfind(".experts.")) + ".switch_mlp.";
    for (int64_t e = 0; e < n_experts; ++e) {
      for (int64_t p = 0; p < n_projections; ++p) {
        add_part(prefix + projections[static_cast<size_t>(p)], static_cast<size_t>(n_experts),
                 static_cast<size_t>(e), slice(tensor, (e * n_projections + p) * n_out, n_out));
      }
    }
  }

  void choose_bits(ConvertedTensor& tensor) {
    tensor.bits = rules_.bits;
    tensor.group_size = rules_.group_size;
    for (const Default& row : kDefaults) {
      if (!tensor.name.ends_with(row.suffix)) continue;
      tensor.bits = row.bits;
      tensor.group_size = row.group_size;
    }
    for (size_t i = 0; i < rules_.overrides.size(); ++i) {
      const BitsOverride& rule = rules_.overrides[i];
      if (fnmatch(rule.pattern.c_str(), tensor.name.c_str(), 0) != 0) continue;
      is_used_[i] = true;
      tensor.bits = rule.bits;
      tensor.group_size = rules_.group_size;
    }
    if (tensor.bits > 0 && tensor.shape.back() % tensor.group_size == 0) return;
    tensor.bits = 0;
    tensor.group_size = 0;
    require_one_type(tensor);
  }

  static void require_one_type(const ConvertedTensor& tensor) {
    const DType type = tensor.parts.front().dtype;
    for (const TensorView& part : tensor.parts) {
      if (part.dtype == type) continue;
      throw Error(ErrorCode::kUnsupportedModel,
                  tensor.name + ": found experts of types " + std::string(slip::name(type)) +
                      " and " + std::string(slip::name(part.dtype)) + ", wanted one type");
    }
  }

  void require_used_overrides() const {
    for (size_t i = 0; i < is_used_.size(); ++i) {
      if (is_used_[i]) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  "--override: found " + quote(rules_.overrides[i].pattern) +
                      ", wanted a pattern that some matrix matches, like \"*.down_proj\"");
    }
  }

  const ModelFile& file_;
  const LoadedModel& model_;
  const ConvertRules& rules_;
  bool has_nested_config_;
  std::vector<bool> is_used_;  // [overrides]
  std::map<std::string, ConvertedTensor> tensors_;
};

}  // namespace

BitsOverride parse_override(const std::string& text) {
  constexpr std::array<std::string_view, 7> kValues = {"none", "2", "3", "4", "5", "6", "8"};
  const size_t equals = text.rfind('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (equals == 0 || std::ranges::find(kValues, value) == kValues.end()) {
    throw Error(ErrorCode::kInvalidArgument,
                "--override: found " + quote(text) +
                    ", wanted PATTERN=BITS with 2, 3, 4, 5, 6 or 8 bits, or PATTERN=none");
  }
  return {.pattern = text.substr(0, equals), .bits = value == "none" ? 0 : std::stoi(value)};
}

ConvertPlan plan_conversion(const ModelFile& file, const LoadedModel& model,
                            const ConvertRules& rules) {
  return Planner(file, model, rules).plan();
}

std::vector<TensorSpec> specs_of(const ConvertedTensor& tensor) {
  const std::string weight = tensor.name + (tensor.is_matrix ? std::string(kWeight) : "");
  if (tensor.bits == 0) {
    return {{.name = weight, .dtype = tensor.parts.front().dtype, .shape = tensor.shape}};
  }
  std::vector<int64_t> words = tensor.shape;
  words.back() = words.back() * tensor.bits / 32;
  std::vector<int64_t> groups = tensor.shape;
  groups.back() /= tensor.group_size;
  return {{.name = weight, .dtype = DType::kU32, .shape = words},
          {.name = tensor.name + ".scales", .dtype = DType::kBF16, .shape = groups},
          {.name = tensor.name + ".biases", .dtype = DType::kBF16, .shape = groups}};
}

nlohmann::ordered_json make_config(nlohmann::ordered_json source, const ConvertPlan& plan,
                                   const ConvertRules& rules) {
  nlohmann::ordered_json quantization = {
      {"group_size", rules.group_size}, {"bits", rules.bits}, {"mode", "affine"}};
  for (const ConvertedTensor& tensor : plan.tensors) {
    if (!tensor.is_matrix) continue;
    if (tensor.bits == 0) {
      quantization[tensor.name] = false;
    } else if (tensor.bits != rules.bits || tensor.group_size != rules.group_size) {
      quantization[tensor.name] = {{"group_size", tensor.group_size}, {"bits", tensor.bits}};
    }
  }
  source["quantization"] = quantization;
  source["quantization_config"] = quantization;
  return source;
}

}  // namespace slip
