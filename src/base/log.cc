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

void init(Level level) {
  auto logger = std::make_shared<spdlog::logger>("slipstream",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%n: %l: %v");
  logger->set_level(threshold(level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace slip::log
