#include "app/tuned_cost.h"

#include <cmath>
#include <fstream>
#include <span>

#include <fmt/format.h>

#include "app/interrupt.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "draft/cost_measurement.h"
#include "io/json_file.h"
#include "io/output_file.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

// Changes with the meaning of the figures.
constexpr const char* kCostFormat = "slipstream cost 2";

double read_price(const nlohmann::json& value, const std::string& origin) {
  const double ms = value.is_number() ? value.get<double>() : -1;
  if (!(ms >= 0) || !std::isfinite(ms))
    refuse_file(origin, "found " + quote(value.dump()) + ", wanted a time in milliseconds");
  return ms;
}

const nlohmann::json& read_field(const nlohmann::json& object, const char* key,
                                 const std::string& origin) {
  const auto found = object.find(key);
  if (found == object.end()) refuse_file(origin, std::string("found no field ") + key);
  return *found;
}

CostSurface::Figures parse_figures(const nlohmann::json& object, const std::string& identity,
                                   const std::string& origin) {
  if (!object.is_object()) refuse_file(origin, "found no object, wanted one");
  if (read_field(object, "format", origin) != kCostFormat)
    refuse_file(origin, std::string("wanted the format \"") + kCostFormat + "\"");
  if (read_field(object, "identity", origin) != identity)
    refuse_file(origin, "belongs to another model or machine");
  const nlohmann::json& step_ms = read_field(object, "step_ms", origin);
  if (!step_ms.is_array() || step_ms.size() != CostSurface::kKnots) {
    refuse_file(origin,
                "step_ms: wanted " + std::to_string(CostSurface::kKnots) + " times in a list");
  }
  CostSurface::Figures figures{
      .context_ms_one_row = read_price(read_field(object, "context_ms_one_row", origin), origin),
      .context_ms_all_rows = read_price(read_field(object, "context_ms_all_rows", origin), origin),
      .draft_run_ms = read_price(read_field(object, "draft_run_ms", origin), origin),
      .draft_token_ms = read_price(read_field(object, "draft_token_ms", origin), origin),
      .draft_context_ms = read_price(read_field(object, "draft_context_ms", origin), origin)};
  for (size_t i = 0; i < CostSurface::kKnots; ++i)
    figures.step_ms[i] = read_price(step_ms[i], origin);
  return figures;
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string cost_identity(const ModelFile& file, const RunnerInfo& info) {
  std::error_code ignored;
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", kCostFormat,
                  fs::weakly_canonical(file.folder(), ignored).string(), file.config().dump(),
                  file.n_bytes(), processor_name(), info.device, name(info.kv_type));
  return fmt::format("{:016x}", hash_bytes(std::as_bytes(std::span(text))));
}

std::optional<fs::path> cost_file(const Environment& environment, const std::string& identity) {
  fs::path cache;
  // Its specification wants a relative one to be ignored.
  if (environment.xdg_cache_home && fs::path(*environment.xdg_cache_home).is_absolute()) {
    cache = *environment.xdg_cache_home;
  } else if (environment.home) {
    cache = fs::path(*environment.home) / ".cache";
  } else {
    return std::nullopt;
  }
  return cache / "slipstream" / "cost" / (identity + ".json");
}

std::optional<CostSurface::Figures> load_cost(const fs::path& path, const std::string& identity) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return std::nullopt;
  try {
    return parse_figures(parse_json(read_text_file(path), path.string()), identity, path.string());
  } catch (const Error& error) {
    log::warning("{}; the file is ignored, \"slipstream tune\" writes it again", error.what());
    return std::nullopt;
  }
}

void save_cost(const fs::path& path, const std::string& identity,
               const CostSurface::Figures& figures) {
  const nlohmann::ordered_json object = {{"format", kCostFormat},
                                         {"identity", identity},
                                         {"step_ms", figures.step_ms},
                                         {"context_ms_one_row", figures.context_ms_one_row},
                                         {"context_ms_all_rows", figures.context_ms_all_rows},
                                         {"draft_run_ms", figures.draft_run_ms},
                                         {"draft_token_ms", figures.draft_token_ms},
                                         {"draft_context_ms", figures.draft_context_ms}};
  std::error_code ignored;  // the file says what is wrong
  fs::create_directories(path.parent_path(), ignored);
  replace_text_file(path, path.string(), object.dump(2) + '\n');
}

CostSurface find_cost(const ModelFile& file, Runner& runner) {
  const std::string identity = cost_identity(file, runner.info());
  const std::optional<fs::path> path = cost_file(read_environment(), identity);
  const auto saved = path ? load_cost(*path, identity) : std::nullopt;
  return saved ? CostSurface(*saved) : measure_cost(runner, kMeasureAtLoadMs, is_interrupted);
}

}  // namespace slip
