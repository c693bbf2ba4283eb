// Typed reading of one object of config.json. Every error names the file, the key, the value found
// and the value wanted.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace slip {

class ConfigReader {
 public:
  // `object` outlives the reader; `path` leads to it, "config.json: text_config".
  // Throws Error{kCorruptFile} when it is not an object.
  ConfigReader(const nlohmann::json& object, std::string path);

  bool has(std::string_view key) const;  // present and not null
  ConfigReader child(std::string_view key) const;

  // In [min, max]. The form with a fallback accepts an absent key. Throws Error{kUnsupportedModel}.
  int32_t integer(std::string_view key, int32_t min, int32_t max) const;
  int32_t integer_or(std::string_view key, int32_t fallback, int32_t min, int32_t max) const;
  std::vector<int32_t> integers_or(std::string_view key, const std::vector<int32_t>& fallback,
                                   int32_t min, int32_t max) const;
  double number(std::string_view key, double min, double max) const;
  double number_or(std::string_view key, double fallback, double min, double max) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  std::string text_or(std::string_view key, const std::string& fallback) const;
  std::vector<std::string> texts(std::string_view key) const;

  // The text under `key` (`fallback` where absent) must be one of `wanted`.
  void require_text(std::string_view key, const std::string& fallback,
                    std::initializer_list<std::string_view> wanted) const;
  void require_boolean(std::string_view key, bool fallback, bool wanted) const;

  // For checks of the caller: throws Error{kUnsupportedModel}, "PATH.KEY: found VALUE, wanted
  // WANTED".
  [[noreturn]] void refuse(std::string_view key, const std::string& wanted) const;

 private:
  const nlohmann::json* find(std::string_view key) const;

  const nlohmann::json& object_;
  std::string path_;
};

}  // namespace slip
