#include "app/backends.h"

#include <string>

#include "backend/cpu/cpu_runner.h"
#include "base/error.h"

namespace slip {

std::span<const Backend> compiled_backends() {
  static constexpr Backend kBackends[] = {
      {"cpu", cpu::load_runner},  // always present, works everywhere
  };
  return kBackends;
}

const Backend& find_backend(std::string_view name) {
  std::string known;
  for (const Backend& backend : compiled_backends()) {
    if (backend.name == name) return backend;
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
  }
  throw Error(ErrorCode::kInvalidArgument,
              "--device: found \"" + std::string(name) + "\", wanted one of: " + known);
}

}  // namespace slip
