// A backend is a name and a way to load a model.
#pragma once

#include <memory>
#include <string_view>

#include "backend/runner.h"
#include "io/model_file.h"

namespace slip {

struct Backend {
  std::string_view name;  // value of --device, which may end in ":N" where there can be several
  bool has_several;
  // `file` outlives the runner, which may point into its mapping. Throws Error{kUnsupportedModel |
  // kInsufficientMemory}.
  std::unique_ptr<Runner> (*load)(const ModelFile& file, const RunnerOptions& options);
};

}  // namespace slip
