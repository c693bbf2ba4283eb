#include "base/log.h"

#include <memory>

#include <spdlog/sinks/stdout_sinks.h>

#include "base/check.h"

namespace slip::log {
namespace {

spdlog::level::level_enum threshold(Level level) {
  switch (level) {
    case Level::kError:
      return spdlog::level::err;
    case Level::kWarning:
      return spdlog::level::warn;
    case Level::kInfo:
      return spdlog::level::info;
    case Level::kDebug:
      return spdlog::level::debug;
  }
  SLIP_CHECK(false);
}

}  // namespace

spdlog::logger& logger() {
  static spdlog::logger logger = [] {
    spdlog::logger made("slipstream", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made.set_pattern("%n: %l: %v");
    made.set_level(threshold(Level::kWarning));
    return made;
  }();
  return logger;
}

void init(Level level) { logger().set_level(threshold(level)); }

}  // namespace slip::log
