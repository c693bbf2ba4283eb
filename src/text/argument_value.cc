#include "text/argument_value.h"

#include <optional>

#include "text/json_scanner.h"

namespace slip {
namespace {

using nlohmann::ordered_json;

// A set of JsonKind, one bit each.
using Kinds = unsigned;

constexpr Kinds bit(JsonKind kind) { return 1U << static_cast<unsigned>(kind); }

constexpr Kinds kAllKinds = bit(JsonKind::kArray) * 2 - 1;

struct NamedKinds {
  std::string_view name;
  Kinds kinds;
};

constexpr NamedKinds kTypes[] = {
    {"null", bit(JsonKind::kNull)},
    {"boolean", bit(JsonKind::kBoolean)},
    {"integer", bit(JsonKind::kInteger)},
    {"number", bit(JsonKind::kInteger) | bit(JsonKind::kNumber)},
    {"string", bit(JsonKind::kString)},
    {"object", bit(JsonKind::kObject)},
    {"array", bit(JsonKind::kArray)},
};

const ordered_json* member(const ordered_json& value, std::string_view key) {
  if (!value.is_object()) return nullptr;
  const auto found = value.find(key);
  return found == value.end() ? nullptr : &*found;
}

// Kinds of a type, or of each of a list of them.
Kinds kinds_of_type(const ordered_json& type) {
  if (type.is_array()) {
    Kinds kinds = 0;
    for (const ordered_json& one : type) kinds |= one.is_array() ? 0 : kinds_of_type(one);
    return kinds;
  }
  for (const auto& [name, kinds] : kTypes) {
    if (type == name) return kinds;
  }
  return bit(JsonKind::kString);
}

Kinds kinds_of_value(const ordered_json& value) {
  if (value.is_number_integer()) return bit(JsonKind::kInteger);
  if (value.is_number()) return bit(JsonKind::kNumber);
  return kinds_of_type(value.type_name());  // "object", "string", ... as schemas call them
}

// What a schema admits. Schemas come from clients: those that refer to themselves, or are huge,
// stop saying anything after kSchemasMax parts.
class SchemaReader {
 public:
  explicit SchemaReader(const ordered_json& root) : root_(root) {}

  Kinds admitted(const ordered_json& schema) {
    if (++n_schemas_ > kSchemasMax || !schema.is_object()) return kAllKinds;
    Kinds kinds = kAllKinds;
    if (const auto* type = member(schema, "type")) kinds &= kinds_of_type(*type);
    if (const auto* value = member(schema, "const")) kinds &= kinds_of_value(*value);
    if (const auto* values = list(schema, "enum")) {
      Kinds any = 0;
      for (const ordered_json& value : *values) any |= kinds_of_value(value);
      kinds &= any;
    }
    for (const char* key : {"anyOf", "oneOf"}) {
      const auto* parts = list(schema, key);
      if (parts == nullptr) continue;
      Kinds any = 0;
      for (const ordered_json& part : *parts) any |= admitted(part);
      kinds &= any;
    }
    if (const auto* parts = list(schema, "allOf")) {
      for (const ordered_json& part : *parts) kinds &= admitted(part);
    }
    if (const auto* target = referred(schema)) kinds &= admitted(*target);
    return kinds;
  }

 private:
  static constexpr int kSchemasMax = 256;

  static const ordered_json* list(const ordered_json& schema, const char* key) {
    const auto* found = member(schema, key);
    return found != nullptr && found->is_array() && !found->empty() ? found : nullptr;
  }

  // The target of {"$ref": "#/$defs/Name"}, or null.
  const ordered_json* referred(const ordered_json& schema) const {
    const auto* reference = member(schema, "$ref");
    if (reference == nullptr || !reference->is_string()) return nullptr;
    std::string_view path = reference->get_ref<const std::string&>();
    if (!path.starts_with("#/")) return nullptr;
    path.remove_prefix(2);
    const ordered_json* target = &root_;
    while (target != nullptr) {
      const size_t slash = path.find('/');
      target = member(*target, path.substr(0, slash));
      if (slash == std::string_view::npos) return target;
      path.remove_prefix(slash + 1);
    }
    return nullptr;
  }

  const ordered_json& root_;
  int n_schemas_ = 0;
};

Kinds admitted_kinds(std::string_view name, const ordered_json* parameters) {
  if (parameters == nullptr) return bit(JsonKind::kString);
  const ordered_json* schema = nullptr;
  if (const auto* properties = member(*parameters, "properties"))
    schema = member(*properties, name);
  if (schema == nullptr) {
    schema = member(*parameters, "additionalProperties");
    if (schema == nullptr || !schema->is_object()) return bit(JsonKind::kString);
  }
  return SchemaReader(*parameters).admitted(*schema);
}

}  // namespace

const ordered_json* find_parameters(const ordered_json& tools, std::string_view name) {
  if (!tools.is_array()) return nullptr;
  for (const ordered_json& tool : tools) {
    const auto* function = member(tool, "function");
    if (function == nullptr) function = &tool;
    const auto* found = member(*function, "name");
    if (found != nullptr && *found == name) return member(*function, "parameters");
  }
  return nullptr;
}

std::string argument_json(std::string_view value, std::string_view name,
                          const ordered_json* parameters) {
  Kinds admitted = admitted_kinds(name, parameters);
  const bool takes_string = (admitted & bit(JsonKind::kString)) != 0;
  if (!takes_string) admitted |= bit(JsonKind::kNull);
  if (admitted == bit(JsonKind::kString)) return json_string(value);

  const std::string_view json = without_json_space(value);
  const std::optional<JsonKind> kind = json_kind(json);
  // A string in quotes is a string of quotes: templates write strings without.
  if (!kind || *kind == JsonKind::kString || (admitted & bit(*kind)) == 0)
    return json_string(value);
  return std::string(json);
}

}  // namespace slip
