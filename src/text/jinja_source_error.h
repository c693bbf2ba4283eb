// Errors of a template's text, with their place.
#pragma once

#include <string>

#include "base/error.h"

namespace slip::jinja {

// "chat_template.jinja:12: "
inline std::string place(const std::string& origin, int line) {
  return origin + ":" + std::to_string(line) + ": ";
}

// The text is no Jinja.
[[noreturn]] inline void syntax_error(const std::string& origin, int line,
                                      const std::string& what) {
  throw Error(ErrorCode::kCorruptFile, place(origin, line) + what);
}

// The text is Jinja that is not implemented here.
[[noreturn]] inline void unsupported(const std::string& origin, int line, const std::string& what) {
  throw Error(ErrorCode::kUnsupportedModel, place(origin, line) + what + " is not supported");
}

}  // namespace slip::jinja
