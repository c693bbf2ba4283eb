// SLIP_CHECK states what must already hold. It stays on in release builds; nothing that a user
// supplies may reach it.
#pragma once

namespace slip {

// Prints the failed condition with its place to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace slip

#define SLIP_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::slip::check_failed(#condition, __FILE__, __LINE__))
