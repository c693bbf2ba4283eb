// Turns the text of a parameter into JSON by the type that the tool declares for it.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace slip {

// The `parameters` schema of the tool `name`, or null if there is none. `tools` is an array in the
// shape of the OpenAI interfaces, {"type": "function", "function": {"name", "parameters"}} or
// {"name", "parameters"}; entries of any other shape are passed over.
const nlohmann::ordered_json* find_parameters(const nlohmann::ordered_json& tools,
                                              std::string_view name);

// JSON text of the parameter `name`, whose text is `value`, valid UTF-8.
//
// A text that is JSON of a type that the schema admits is copied as it is written, without the
// white space around it: 1e400 and 12345678901234567890 keep their digits. `null` is null, unless
// the schema admits strings and not null. Everything else is a string, the text unchanged. So a
// parameter that is declared as a string is never parsed; where strings and other types are
// admitted, the other types are tried first; a value that does not fit its type arrives as a
// string.
//
// The schema admits what `type` (a name or a list; an unknown name counts as string), `enum`,
// `const`, `anyOf`, `oneOf`, `allOf` and a local `$ref` leave. One that says nothing admits all
// types. A parameter that is not declared at all is a string, unless `additionalProperties` has a
// schema for it.
//   parameters  the schema of all parameters, or null
std::string argument_json(std::string_view value, std::string_view name,
                          const nlohmann::ordered_json* parameters);

}  // namespace slip
