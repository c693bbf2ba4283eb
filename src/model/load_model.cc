#include <string>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "model/families/family.h"
#include "model/tensor_finder.h"
#include "model/weights.h"

namespace slip {

namespace {

bool is_vision(const std::string& name) {
  return name.starts_with("model.visual.") || name.starts_with("vision_tower.") ||
         name.starts_with("visual.");
}

// One line, however many there are.
void report_unused(std::vector<std::string> unused) {
  const size_t n_vision = std::erase_if(unused, is_vision);
  if (n_vision > 0)
    log::info("{} vision tensors are not used: this program runs the text model", n_vision);
  if (!unused.empty())
    log::warning("{} tensors are not used, the first is {}", unused.size(), quote(unused[0]));
}

}  // namespace

ModelConfig read_config(const ModelFile& file) {
  ModelConfig config = find_family(file.config()).parse_config(file.config());
  config.has_draft_head = file.tensors().contains("mtp.norm.weight") ||
                          file.tensors().contains("language_model.mtp.norm.weight");
  return config;
}

LoadedModel load_model(const ModelFile& file) {
  LoadedModel model{.config = read_config(file), .weights = {}, .owned = {}, .unused = {}};
  TensorFinder finder(file, model.owned);
  model.weights = find_family(file.config()).find_weights(model.config, finder);
  model.unused = finder.unused();
  report_unused(model.unused);
  return model;
}

}  // namespace slip
