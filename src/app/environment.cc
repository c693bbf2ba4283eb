#include "app/environment.h"

#include <cstdlib>

namespace slip {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

Environment read_environment() {
  return {.hf_hub_cache = variable("HF_HUB_CACHE"),
          .hf_home = variable("HF_HOME"),
          .xdg_cache_home = variable("XDG_CACHE_HOME"),
          .home = variable("HOME"),
          .term = variable("TERM")};
}

}  // namespace slip
