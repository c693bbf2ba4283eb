// Refusals for want of memory know how much was wanted, not what for.
#pragma once

#include <string>

#include "base/error.h"

namespace slip {

// What `action` returns. An Error{kInsufficientMemory} of it begins with `purpose`.
template <class Action>
auto with_memory_for(const std::string& purpose, Action action) {
  try {
    return action();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInsufficientMemory) throw;
    throw Error(error.code(), "memory for " + purpose + ": " + error.what());
  }
}

}  // namespace slip
