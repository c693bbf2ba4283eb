// Log lines go to stderr, one event a line; stdout belongs to the answer.
#pragma once

#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

namespace slip::log {

enum class Level { kError, kWarning, kInfo, kDebug };

// Lines below `level` are dropped from now on; at first those below a warning.
void init(Level level);

// The program's own, so that a library of ours leaves its host's alone.
spdlog::logger& logger();

template <class... Args>
void error(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().error(format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().warn(format, std::forward<Args>(args)...);
}
template <class... Args>
void info(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().info(format, std::forward<Args>(args)...);
}
template <class... Args>
void debug(spdlog::format_string_t<Args...> format, Args&&... args) {
  logger().debug(format, std::forward<Args>(args)...);
}

}  // namespace slip::log
