#include <array>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "io/json_file.h"
#include "model/config_reader.h"
#include "model/families/qwen3_5.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip {

namespace {

struct Family {
  std::string_view model_type;
  ModelConfig (*parse_config)(const nlohmann::json& config);
  ModelWeights (*find_weights)(const ModelConfig& config, TensorFinder& finder);
};

constexpr std::array kFamilies = {
    Family{"qwen3_5", qwen3_5::parse_config, qwen3_5::find_weights},
    Family{"qwen3_5_text", qwen3_5::parse_config,
           qwen3_5::find_weights},  // text-only export, flat configuration
};

const Family& find_family(const nlohmann::json& config) {
  const ConfigReader root(config, "config.json");
  const std::string model_type = root.text_or("model_type", "");
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return family;
    known += (known.empty() ? "\"" : " or \"") + std::string(family.model_type) + "\"";
  }
  root.refuse("model_type", known);
}

bool is_vision(const std::string& name) {
  return name.starts_with("model.visual.") || name.starts_with("vision_tower.") ||
         name.starts_with("visual.");
}

// One line, however many there are.
void report_unused(const TensorFinder& finder) {
  std::vector<std::string> unused = finder.unused();
  const size_t n_vision = std::erase_if(unused, is_vision);
  if (n_vision > 0)
    log::info("{} vision tensors are not used: this program runs the text model", n_vision);
  if (!unused.empty())
    log::warning("{} tensors are not used, the first is {}", unused.size(), quote(unused[0]));
}

}  // namespace

LoadedModel load_model(const ModelFile& file) {
  const Family& family = find_family(file.config());
  TensorFinder finder(file);
  LoadedModel model{.config = family.parse_config(file.config()), .weights = {}};
  model.config.has_draft_head =
      finder.has("mtp.norm.weight") || finder.has("language_model.mtp.norm.weight");
  model.weights = family.find_weights(model.config, finder);
  report_unused(finder);
  return model;
}

}  // namespace slip
