#include "model/config.h"

#include <algorithm>

namespace slip {

int32_t ModelConfig::n_layers(MixerKind kind) const {
  return static_cast<int32_t>(std::count_if(
      layers.begin(), layers.end(), [&](const LayerConfig& layer) { return layer.mixer == kind; }));
}

}  // namespace slip
