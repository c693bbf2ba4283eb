// Any text as a config.json: numbers that hold together, or an Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "model/families/family.h"
#include "model/quantization.h"

namespace {

void check(const slip::ModelConfig& config) {
  const slip::AttentionConfig& a = config.attention;
  SLIP_CHECK(config.vocab_size > 0 && config.hidden_size > 0 && !config.layers.empty());
  SLIP_CHECK(a.n_kv_heads > 0 && a.n_heads % a.n_kv_heads == 0 && a.head_dim > 0);
  SLIP_CHECK(a.rotary_dims() <= a.head_dim);
  SLIP_CHECK(config.experts.n_experts_per_token <= config.experts.n_experts);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto text = std::string_view(reinterpret_cast<const char*>(data), size);
    const nlohmann::json config = slip::parse_json(text, "fuzz");
    check(slip::find_family(config).parse_config(config));
    slip::require_known_quantization(config);
    slip::read_affine(config, "module");
  } catch (const slip::Error&) {
    return 0;  // the one way to say no
  }
  return 0;
}
