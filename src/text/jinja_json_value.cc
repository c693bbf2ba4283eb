#include "text/jinja_json_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/error.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

using Json = nlohmann::ordered_json;

// Templates build markers out of these ("<|" + role + "|>"), so they must not count as a client's
// own words.
constexpr std::array<std::string_view, 8> kRoles = {"assistant", "developer", "function", "ipython",
                                                    "model",     "system",    "tool",     "user"};

class Converter {
 public:
  Converter(const std::string& name, const Limits& limits) : name_(name), limits_(limits) {}

  Value convert(const Json& json, Origin origin, int depth) const {
    switch (json.type()) {
      case Json::value_t::null:
        return None{};
      case Json::value_t::boolean:
        return Value(json.get<bool>());
      case Json::value_t::number_integer:
        return Value(json.get<int64_t>());
      case Json::value_t::number_unsigned:
        return unsigned_value(json.get<uint64_t>());
      case Json::value_t::number_float:
        return Value(json.get<double>());
      case Json::value_t::string:
        return Value(Text(repair_utf8(json.get_ref<const std::string&>()), origin));
      case Json::value_t::array:
        return array(json, origin, deeper(depth));
      case Json::value_t::object:
        return object(json, origin, deeper(depth));
      default:
        fail("a value that is no JSON");
    }
  }

  Value messages(const Json& json) const {
    if (!json.is_array()) fail(std::string(json.type_name()) + ", wanted an array of messages");
    Elements elements;
    for (const Json& message : json) {
      if (!message.is_object()) fail(std::string(message.type_name()) + ", wanted an object");
      elements.push_back(convert(message, Origin::kConversation, 1));
      const auto role = message.find("role");
      if (role != message.end() && is_known_role(*role)) {
        elements.back() = with_role(elements.back(), role->get<std::string>());
      }
    }
    return Value(std::move(elements));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, name_ + ": found " + what);
  }

  int deeper(int depth) const {
    if (depth >= limits_.value_nesting_max) {
      fail("values nested deeper than " + std::to_string(limits_.value_nesting_max));
    }
    return depth + 1;
  }

  Value unsigned_value(uint64_t value) const {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      fail("integer " + std::to_string(value) + ", wanted 64 bits with a sign");
    }
    return Value(static_cast<int64_t>(value));
  }

  Value array(const Json& json, Origin origin, int depth) const {
    Elements elements;
    elements.reserve(json.size());
    for (const Json& element : json) elements.push_back(convert(element, origin, depth));
    return Value(std::move(elements));
  }

  Value object(const Json& json, Origin origin, int depth) const {
    Entries entries;
    entries.reserve(json.size());
    for (const auto& [key, value] : json.items()) {
      entries.emplace_back(Value(Text(repair_utf8(key), origin)), convert(value, origin, depth));
    }
    return Value(std::move(entries));
  }

  static bool is_known_role(const Json& role) {
    return role.is_string() && std::find(kRoles.begin(), kRoles.end(),
                                         role.get_ref<const std::string&>()) != kRoles.end();
  }

  static Value with_role(const Value& message, const std::string& role) {
    Entries entries = message.entries();
    for (auto& [key, value] : entries) {
      if (key.string() == "role") value = Value(role);
    }
    return Value(std::move(entries));
  }

  const std::string& name_;
  const Limits& limits_;
};

}  // namespace

Value to_value(const Json& json, Origin origin, const std::string& name, const Limits& limits) {
  return Converter(name, limits).convert(json, origin, 0);
}

Value to_messages(const Json& json, const std::string& name, const Limits& limits) {
  return Converter(name, limits).messages(json);
}

}  // namespace slip::jinja
