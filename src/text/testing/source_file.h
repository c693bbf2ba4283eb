// Files of the repository that tests read.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

namespace slip::test {

// The bytes of the file at `path`, relative to the repository's root.
inline std::string read_source_file(const std::string& path) {
  std::ifstream file(std::filesystem::path(SLIP_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(file.is_open()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace slip::test
