// A folder that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace slip {

class OutputFolder {
 public:
  // Makes a folder beside `path` to write into; without commit() it is removed again with
  // everything in it. Throws Error{kInvalidArgument} where `path` is something other than an empty
  // folder, or its parent cannot be written.
  explicit OutputFolder(const std::filesystem::path& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write meanwhile.
  const std::filesystem::path& path() const { return partial_path_; }

  // Throw Error{kInvalidArgument} when the disk is full.
  void write(std::string_view name, std::string_view text) const;
  void copy(const std::filesystem::path& file) const;  // under its own name

  // The folder takes its place.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_path_;
};

}  // namespace slip
