// Where the tests that can run on any device do: on the CPU, or where SLIP_TEST_DEVICE says, a
// value of --device. tools/gpu_check runs them again with "cuda".
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace slip {

inline std::string test_device() {
  const char* name = std::getenv("SLIP_TEST_DEVICE");
  return name == nullptr ? "cpu" : name;
}

// The checkout: where the program was built, or the current folder for a program that was carried
// to another machine.
inline std::filesystem::path source_root() {
  const std::filesystem::path built = SLIP_SOURCE_DIR;
  return std::filesystem::exists(built / "models") ? built : std::filesystem::current_path();
}

}  // namespace slip
