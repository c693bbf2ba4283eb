// A folder that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace slip {

class OutputFolder {
 public:
  // Makes a partial folder to write into: inside `path` where that is an empty folder, so that its
  // owner, its mode and whatever is mounted there stay; beside it where there is none. Without
  // commit() it is removed again with everything in it; a process that is killed leaves it.
  // Throws Error{kInvalidArgument} where `path` is something other than an empty folder, a link to
  // nothing, or nothing can be created there; Error{kOutputFailed} where the disk is full.
  explicit OutputFolder(const std::filesystem::path& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write meanwhile.
  const std::filesystem::path& path() const { return partial_path_; }

  // Throw Error{kOutputFailed} when the disk is full, and copy() what read_text_file() throws.
  void write(std::string_view name, std::string_view text) const;
  void copy(const std::filesystem::path& file) const;  // under its own name

  // What was written takes its place, config.json last: without it a folder is no model. Throws
  // Error{kOutputFailed} where something else has taken the place meanwhile.
  void commit();

 private:
  void move_up() const;

  std::filesystem::path path_;
  bool is_inside_;
  std::filesystem::path partial_path_;
};

}  // namespace slip
