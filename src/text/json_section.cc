#include "text/json_section.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "text/unicode.h"

namespace slip {

using nlohmann::json;

namespace {

constexpr size_t kShownBytesMax = 200;
constexpr size_t kShownElementsMax = 16;

}  // namespace

std::string shown(const json& value) {
  if (value.is_structured() && value.size() > kShownElementsMax) {
    return std::string(value.type_name()) + " of " + std::to_string(value.size());
  }
  std::string text = to_text(value);
  if (text.size() > kShownBytesMax) text.resize(kShownBytesMax);
  return repair_utf8(text);
}

void Section::corrupt(const std::string& what) const {
  throw Error(ErrorCode::kCorruptFile, place + ": " + what);
}

void Section::refuse(std::string_view key, const json& found) const {
  throw Error(ErrorCode::kUnsupportedModel,
              place + ": " + std::string(key) + " = " + shown(found) + " is not supported");
}

bool Section::has(std::string_view key) const {
  const auto found = value.find(key);
  return found != value.end() && !found->is_null();
}

const json& Section::at(std::string_view key) const {
  const auto found = value.find(key);
  if (found == value.end()) corrupt("no key " + std::string(key));
  return *found;
}

const json& Section::array_at(std::string_view key) const {
  const json& found = at(key);
  if (!found.is_array()) corrupt(std::string(key) + " = " + shown(found) + ", wanted an array");
  return found;
}

std::string Section::string_at(std::string_view key) const {
  const json& found = at(key);
  if (!found.is_string()) corrupt(std::string(key) + " = " + shown(found) + ", wanted a string");
  return found.get<std::string>();
}

bool Section::flag_at(std::string_view key) const {
  const json& found = at(key);
  if (!found.is_boolean())
    corrupt(std::string(key) + " = " + shown(found) + ", wanted true or false");
  return found.get<bool>();
}

bool Section::flag_or(std::string_view key, bool absent) const {
  return value.contains(key) ? flag_at(key) : absent;
}

Section Section::child(std::string_view key) const {
  const json& found = at(key);
  if (!found.is_object()) corrupt(std::string(key) + " = " + shown(found) + ", wanted an object");
  return {found, place + std::string(separator) + std::string(key)};
}

Section Section::child(std::string_view key, size_t i) const {
  const json& found = array_at(key)[i];
  Section element{
      found, place + std::string(separator) + std::string(key) + "[" + std::to_string(i) + "]"};
  if (!found.is_object()) element.corrupt(shown(found) + ", wanted an object");
  return element;
}

void Section::allow(const std::vector<Setting>& settings) const {
  for (const auto& [key, found] : value.items()) {
    const auto setting = std::find_if(settings.begin(), settings.end(),
                                      [&, &name = key](const Setting& s) { return s.key == name; });
    if (setting == settings.end()) refuse(key, found);
    const auto& allowed = setting->allowed;
    if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), found) == allowed.end()) {
      refuse(key, found);
    }
  }
}

}  // namespace slip
