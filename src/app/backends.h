// The backends that this program was built with; the only place that knows.
#pragma once

#include <span>
#include <string_view>

#include "backend/backend.h"

namespace slip {

std::span<const Backend> compiled_backends();

// Throws Error{kInvalidArgument} listing the names there are.
const Backend& find_backend(std::string_view name);

}  // namespace slip
