#include <array>
#include <string>

#include "model/config_reader.h"
#include "model/families/family.h"
#include "model/families/llama.h"
#include "model/families/qwen3_5.h"
#include "model/families/qwen3_next.h"

namespace slip {

std::span<const Family> families() {
  static constexpr std::array kFamilies = {
      Family{"qwen3_5", qwen3_5::parse_config, qwen3_5::find_weights},
      Family{"qwen3_5_text", qwen3_5::parse_config, qwen3_5::find_weights},
      Family{"qwen3_5_moe", qwen3_5::parse_moe_config, qwen3_5::find_weights},
      Family{"qwen3_5_moe_text", qwen3_5::parse_moe_config, qwen3_5::find_weights},
      Family{"qwen3_next", qwen3_next::parse_config, qwen3_next::find_weights},
      Family{"llama", llama::parse_config, llama::find_weights},
      Family{"qwen2", llama::parse_config, llama::find_weights},
      Family{"qwen3", llama::parse_config, llama::find_weights},
      Family{"qwen3_moe", llama::parse_config, llama::find_weights},
  };
  return kFamilies;
}

const Family& find_family(const nlohmann::json& config) {
  const ConfigReader root(config, "config.json");
  const std::string model_type = root.text_or("model_type", "");
  std::string known;
  for (const Family& family : families()) {
    if (family.model_type == model_type) return family;
    known += (known.empty() ? "\"" : ", \"") + std::string(family.model_type) + "\"";
  }
  root.refuse("model_type", "one of " + known);
}

}  // namespace slip
