// Log lines go to stderr, one event a line; stdout belongs to the answer.
#pragma once

#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

namespace slip::log {

enum class Level { kError, kWarning, kInfo, kDebug };

// Sends lines at `level` and above to stderr. Call once, before the first line.
void init(Level level);

template <class... Args>
void error(spdlog::format_string_t<Args...> format, Args&&... args) {
  spdlog::error(format, std::forward<Args>(args)...);
}
template <class... Args>
void warning(spdlog::format_string_t<Args...> format, Args&&... args) {
  spdlog::warn(format, std::forward<Args>(args)...);
}
template <class... Args>
void info(spdlog::format_string_t<Args...> format, Args&&... args) {
  spdlog::info(format, std::forward<Args>(args)...);
}
template <class... Args>
void debug(spdlog::format_string_t<Args...> format, Args&&... args) {
  spdlog::debug(format, std::forward<Args>(args)...);
}

}  // namespace slip::log
