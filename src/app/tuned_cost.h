// What steps cost on this machine, kept between runs: one small file per model, processor, threads
// and kernels in the user's cache folder, written by `slipstream tune`.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/environment.h"
#include "backend/runner.h"
#include "draft/cost_surface.h"
#include "io/model_file.h"

namespace slip {

// "AMD EPYC 7B13": what the system calls the processor, "unknown" where it does not say.
std::string processor_name();

// Of everything that a surface depends on: folder, configuration and size of the model, processor,
// device with its kernels and threads. 16 hexadecimal digits.
std::string cost_identity(const ModelFile& file, const RunnerInfo& info);

// $XDG_CACHE_HOME/slipstream/cost/IDENTITY.json, or below ~/.cache. Nothing where neither is known.
std::optional<std::filesystem::path> cost_file(const Environment& environment,
                                               const std::string& identity);

// The saved surface. Nothing where there is no file; nothing and one warning where it is damaged or
// another machine's or model's.
std::optional<CostSurface::Figures> load_cost(const std::filesystem::path& path,
                                              const std::string& identity);

// Written whole or not at all. Throws as replace_text_file() does.
void save_cost(const std::filesystem::path& path, const std::string& identity,
               const CostSurface::Figures& figures);

// The saved surface, or one measured now, which takes about a second.
CostSurface find_cost(const ModelFile& file, Runner& runner);

}  // namespace slip
