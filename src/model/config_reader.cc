#include "model/config_reader.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace slip {

namespace {

constexpr size_t kShownBytesMax = 60;

std::string shown(const nlohmann::json* value) {
  if (value == nullptr) return "nothing";
  std::string text = value->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kShownBytesMax) text = text.substr(0, kShownBytesMax) + "...";
  return text;
}

}  // namespace

ConfigReader::ConfigReader(const nlohmann::json& object, std::string path)
    : object_(object), path_(std::move(path)) {
  if (!object.is_object()) {
    throw Error(ErrorCode::kCorruptFile,
                path_ + ": found " + shown(&object) + ", wanted an object");
  }
}

const nlohmann::json* ConfigReader::find(std::string_view key) const {
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

bool ConfigReader::has(std::string_view key) const { return find(key) != nullptr; }

ConfigReader ConfigReader::child(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) refuse(key, "an object");
  return {*value, path_ + "." + std::string(key)};
}

void ConfigReader::refuse(std::string_view key, const std::string& wanted) const {
  throw Error(ErrorCode::kUnsupportedModel, path_ + "." + std::string(key) + ": found " +
                                                shown(find(key)) + ", wanted " + wanted);
}

int32_t ConfigReader::integer(std::string_view key, int32_t min, int32_t max) const {
  const nlohmann::json* value = find(key);
  const auto wanted = [&] {
    return "an integer in [" + std::to_string(min) + ", " + std::to_string(max) + "]";
  };
  if (value == nullptr || !value->is_number_integer()) refuse(key, wanted());
  // An unsigned number above the int64 range would wrap, so both bounds are asked of the type it
  // has.
  if (value->is_number_unsigned() && value->get<uint64_t>() > static_cast<uint64_t>(INT32_MAX))
    refuse(key, wanted());
  const auto number = value->get<int64_t>();
  if (number < min || number > max) refuse(key, wanted());
  return static_cast<int32_t>(number);
}

int32_t ConfigReader::integer_or(std::string_view key, int32_t fallback, int32_t min,
                                 int32_t max) const {
  return has(key) ? integer(key, min, max) : fallback;
}

std::vector<int32_t> ConfigReader::integers_or(std::string_view key,
                                               const std::vector<int32_t>& fallback, int32_t min,
                                               int32_t max) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  const auto is_good = [&](const nlohmann::json& element) {
    return element.is_number_integer() && element >= min && element <= max;
  };
  if (!value->is_array() || !std::all_of(value->begin(), value->end(), is_good)) {
    refuse(key, "a list of integers in [" + std::to_string(min) + ", " + std::to_string(max) + "]");
  }
  return value->get<std::vector<int32_t>>();
}

double ConfigReader::number(std::string_view key, double min, double max) const {
  const nlohmann::json* value = find(key);
  const bool is_good = value != nullptr && value->is_number() && value->get<double>() >= min &&
                       value->get<double>() <= max;
  if (!is_good)
    refuse(key, "a number in [" + std::to_string(min) + ", " + std::to_string(max) + "]");
  return value->get<double>();
}

double ConfigReader::number_or(std::string_view key, double fallback, double min,
                               double max) const {
  return has(key) ? number(key, min, max) : fallback;
}

bool ConfigReader::boolean_or(std::string_view key, bool fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::string ConfigReader::text_or(std::string_view key, const std::string& fallback) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_string()) refuse(key, "a string");
  return value->get<std::string>();
}

std::vector<std::string> ConfigReader::texts(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr || !value->is_array()) refuse(key, "a list of strings");
  std::vector<std::string> result;
  for (const nlohmann::json& element : *value) {
    if (!element.is_string()) refuse(key, "a list of strings");
    result.push_back(element.get<std::string>());
  }
  return result;
}

void ConfigReader::require_text(std::string_view key, const std::string& fallback,
                                std::initializer_list<std::string_view> wanted) const {
  const std::string value = text_or(key, fallback);
  if (std::find(wanted.begin(), wanted.end(), value) != wanted.end()) return;
  std::string list;
  for (const std::string_view choice : wanted)
    list += (list.empty() ? "\"" : " or \"") + std::string(choice) + "\"";
  refuse(key, list);
}

void ConfigReader::require_boolean(std::string_view key, bool fallback, bool wanted) const {
  if (boolean_or(key, fallback) != wanted) refuse(key, wanted ? "true" : "false");
}

}  // namespace slip
