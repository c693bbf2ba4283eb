#include "text/argument_value.h"

#include <gtest/gtest.h>

namespace slip {
namespace {

using nlohmann::ordered_json;

struct ValueCase {
  const char* schema;  // of the parameter
  const char* value;
  const char* json;
};

const ValueCase kValueCases[] = {
    // A string is never parsed.
    {R"({"type": "string"})", "12", R"("12")"},
    {R"({"type": "string"})", "null", R"("null")"},
    {R"({"type": "string"})", " {\"a\": 1}\n", R"(" {\"a\": 1}\n")"},
    {R"({"type": "string"})", "", R"("")"},
    {R"({"type": "string"})", "\"in quotes\"", R"("\"in quotes\"")"},
    // Other types are copied as they are written.
    {R"({"type": "integer"})", "12", "12"},
    {R"({"type": "integer"})", " 12\n", "12"},
    {R"({"type": "integer"})", "12345678901234567890", "12345678901234567890"},
    {R"({"type": "integer"})", "5.0", "5.0"},
    {R"({"type": "number"})", "1e400", "1e400"},
    {R"({"type": "number"})", "3", "3"},
    {R"({"type": "number"})", "0.10", "0.10"},
    {R"({"type": "boolean"})", "true", "true"},
    {R"({"type": "object"})", R"({"b": 1, "a": [1.50]})", R"({"b": 1, "a": [1.50]})"},
    {R"({"type": "array"})", "[1,\n2]", "[1,\n2]"},
    {R"({"type": "integer"})", "null", "null"},
    // What does not fit stays a string.
    {R"({"type": "integer"})", "5.5", R"("5.5")"},
    {R"({"type": "integer"})", "twelve", R"("twelve")"},
    {R"({"type": "integer"})", "0x10", R"("0x10")"},
    {R"({"type": "integer"})", "", R"("")"},
    {R"({"type": "number"})", "NaN", R"("NaN")"},
    {R"({"type": "boolean"})", "True", R"("True")"},
    {R"({"type": "boolean"})", "1", R"("1")"},
    {R"({"type": "object"})", "{'a': 1}", R"("{'a': 1}")"},
    {R"({"type": "object"})", "[1]", R"("[1]")"},
    {R"({"type": "array"})", "[1", R"("[1")"},
    // Unions: other types first, then string.
    {R"({"type": ["string", "null"]})", "null", "null"},
    {R"({"type": ["string", "null"]})", "12", R"("12")"},
    {R"({"type": ["string", "integer"]})", "12", "12"},
    {R"({"type": ["string", "integer"]})", "null", R"("null")"},
    {R"({"type": ["string", "integer"]})", "12a", R"("12a")"},
    {R"({"anyOf": [{"type": "string"}, {"type": "array"}]})", "[1]", "[1]"},
    {R"({"anyOf": [{"type": "string"}, {"type": "array"}]})", "1", R"("1")"},
    {R"({"oneOf": [{"type": "boolean"}, {"type": "null"}]})", "null", "null"},
    {R"({"oneOf": [{"type": "boolean"}, {"type": "null"}]})", "1", R"("1")"},
    {R"({"allOf": [{"type": ["string", "integer"]}, {"type": ["integer", "null"]}]})", "3", "3"},
    {R"({"allOf": [{"type": ["string", "integer"]}, {"type": ["string", "null"]}]})", "3",
     R"("3")"},
    // Values that are listed say their type.
    {R"({"enum": ["1", "2"]})", "1", R"("1")"},
    {R"({"enum": [1, 2]})", "1", "1"},
    {R"({"const": 1.5})", "2.5", "2.5"},
    {R"({"const": "true"})", "true", R"("true")"},
    // References.
    {R"({"$ref": "#/$defs/Level"})", "1", R"("1")"},
    {R"({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]})", R"({"x": 1})", R"({"x": 1})"},
    {R"({"anyOf": [{"$ref": "#/$defs/Point"}, {"type": "null"}]})", "1", R"("1")"},
    {R"({"$ref": "#/$defs/Missing"})", "1", "1"},
    {R"({"$ref": "https://example.org/schema"})", "1", "1"},
    {R"({"$ref": "#/$defs/Loop"})", "1", "1"},
    // A schema that says nothing admits all; a string in quotes is no JSON string there.
    {"{}", "12", "12"},
    {"{}", "null", "null"},
    {"{}", "some text", R"("some text")"},
    {"{}", R"("a")", R"("\"a\"")"},
    {"true", "12", "12"},
    // Shapes that no schema has.
    {R"({"type": "str"})", "12", R"("12")"},
    {R"({"type": 7})", "12", R"("12")"},
    {R"({"type": [["integer"]]})", "12", R"("12")"},
    {R"({"anyOf": 7})", "12", "12"},
    {R"({"anyOf": []})", "12", "12"},
    {R"({"enum": {}, "$ref": 7})", "12", "12"},
    {"null", "12", "12"},
};

ordered_json parameters_with(const char* schema) {
  ordered_json parameters = ordered_json::parse(R"({"$defs": {
      "Level": {"type": "string", "enum": ["1"]},
      "Point": {"type": "object"},
      "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Loop"}]}}})");
  parameters["properties"]["p"] = ordered_json::parse(schema);
  return parameters;
}

TEST(ArgumentJson, FollowsTheDeclaredType) {
  for (const auto& [schema, value, json] : kValueCases) {
    const ordered_json parameters = parameters_with(schema);
    EXPECT_EQ(argument_json(value, "p", &parameters), json) << schema << ' ' << value;
  }
}

TEST(ArgumentJson, IsAStringForAParameterThatIsNotDeclared) {
  const ordered_json parameters = parameters_with(R"({"type": "integer"})");
  EXPECT_EQ(argument_json("12", "q", &parameters), R"("12")");
  EXPECT_EQ(argument_json("null", "q", &parameters), R"("null")");
  EXPECT_EQ(argument_json("12", "p", nullptr), R"("12")");
}

TEST(ArgumentJson, FollowsTheSchemaOfAdditionalProperties) {
  ordered_json parameters = parameters_with(R"({"type": "string"})");
  parameters["additionalProperties"] = {{"type", "integer"}};
  EXPECT_EQ(argument_json("12", "q", &parameters), "12");
  EXPECT_EQ(argument_json("12", "p", &parameters), R"("12")");
  parameters["additionalProperties"] = true;
  EXPECT_EQ(argument_json("12", "q", &parameters), R"("12")");
}

TEST(ArgumentJson, KeepsValuesThatAreNestedTooDeeplyAsStrings) {
  const ordered_json parameters = parameters_with(R"({"type": "array"})");
  const std::string value = std::string(65, '[') + std::string(65, ']');
  EXPECT_EQ(argument_json(value, "p", &parameters), '"' + value + '"');
}

TEST(FindParameters, ReadsBothShapesOfToolsAndPassesOverOthers) {
  const ordered_json tools = ordered_json::parse(R"([7, null, {"function": []}, {"name": 3},
      {"type": "function", "function": {"name": "nested", "parameters": {"a": 1}}},
      {"type": "function", "name": "flat", "parameters": {"b": 2}}, {"name": "bare"}])");
  ASSERT_NE(find_parameters(tools, "nested"), nullptr);
  EXPECT_EQ(*find_parameters(tools, "nested"), ordered_json::parse(R"({"a": 1})"));
  ASSERT_NE(find_parameters(tools, "flat"), nullptr);
  EXPECT_EQ(*find_parameters(tools, "flat"), ordered_json::parse(R"({"b": 2})"));
  EXPECT_EQ(find_parameters(tools, "bare"), nullptr);
  EXPECT_EQ(find_parameters(tools, "missing"), nullptr);
  EXPECT_EQ(find_parameters(ordered_json(), "nested"), nullptr);
}

}  // namespace
}  // namespace slip
