#include "model/quantization.h"

#include <string_view>

#include "base/error.h"
#include "model/config_reader.h"
#include "tensor/quant.h"

namespace slip {

namespace {

constexpr std::string_view kMlxKey = "quantization";
constexpr std::string_view kHuggingFaceKey = "quantization_config";

// MLX writes its parameters under both keys, Hugging Face a method under the second.
bool names_a_method(const ConfigReader& root) {
  return root.has(kHuggingFaceKey) && root.child(kHuggingFaceKey).has("quant_method");
}

void require_fp8_blocks(const ConfigReader& fp8, const nlohmann::json& json) {
  fp8.require_text("quant_method", "", {"fp8"});
  fp8.require_text("fmt", "e4m3", {"e4m3"});
  const nlohmann::json wanted = {kFp8BlockRows, kFp8BlockColumns};
  if (fp8.has("weight_block_size") && json["weight_block_size"] != wanted)
    fp8.refuse("weight_block_size", wanted.dump());
}

}  // namespace

void require_known_quantization(const nlohmann::json& config) {
  const ConfigReader root(config, "config.json");
  if (root.has(kMlxKey)) root.child(kMlxKey).require_text("mode", "affine", {"affine"});
  if (names_a_method(root)) {
    require_fp8_blocks(root.child(kHuggingFaceKey), config[std::string(kHuggingFaceKey)]);
  }
}

AffineParameters read_affine(const nlohmann::json& config, const std::string& module) {
  const ConfigReader root(config, "config.json");
  const std::string_view key = root.has(kMlxKey) ? kMlxKey : kHuggingFaceKey;
  if (!root.has(key) || (key == kHuggingFaceKey && names_a_method(root))) {
    throw Error(ErrorCode::kUnsupportedModel,
                module +
                    ": has scales, but config.json has no \"quantization\" that says how they "
                    "apply");
  }
  const ConfigReader global = root.child(key);
  const nlohmann::json& entries = config[std::string(key)];
  const auto own = entries.find(module);
  const bool has_own = own != entries.end() && own->is_object();
  if (own != entries.end() && own->is_boolean() && !own->get<bool>()) {
    throw Error(ErrorCode::kCorruptFile, module +
                                             ": has scales, but config.json says that it is "
                                             "not quantised");
  }
  const ConfigReader reader = has_own ? global.child(module) : global;
  reader.require_text("mode", "affine", {"affine"});
  const auto read = [&](std::string_view name, int32_t max) {
    return reader.has(name) ? reader.integer(name, 1, max) : global.integer(name, 1, max);
  };
  const AffineParameters parameters{.group_size = read("group_size", 1024),
                                    .bits = read("bits", 8)};
  if (!affine_format(parameters.bits)) reader.refuse("bits", "2, 3, 4, 5, 6 or 8");
  const int32_t g = parameters.group_size;
  if (g != 32 && g != 64 && g != 128) reader.refuse("group_size", "32, 64 or 128");
  return parameters;
}

}  // namespace slip
