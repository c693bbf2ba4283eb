// The environment variables that the program reads, all of them, in one place.
#pragma once

#include <optional>
#include <string>

namespace slip {

// A variable that is empty counts as not set.
struct Environment {
  std::optional<std::string> hf_hub_cache;    // HF_HUB_CACHE
  std::optional<std::string> hf_home;         // HF_HOME
  std::optional<std::string> xdg_cache_home;  // XDG_CACHE_HOME
  std::optional<std::string> home;            // HOME
  std::optional<std::string> term;            // TERM
};

Environment read_environment();

}  // namespace slip
