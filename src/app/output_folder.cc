#include "app/output_folder.h"

#include <fstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include "base/error.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, path.string() + ": " + reason);
}

// Symbolic links followed and a slash at the end removed, so that the last name is the folder's
// own.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  fs::path full = fs::weakly_canonical(fs::absolute(path), error);
  if (error) refuse(path, "cannot be written: " + error.message());
  return full.has_filename() ? full : full.parent_path();
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& path)
    : path_(resolve(path)), partial_path_(path_.string() + ".partial-" + std::to_string(getpid())) {
  std::error_code error;
  const bool is_free =
      !fs::exists(path_, error) || (fs::is_directory(path_, error) && fs::is_empty(path_, error));
  if (!is_free) refuse(path, "exists, wanted an empty folder or none");
  if (!fs::create_directory(partial_path_, error) || error) {
    refuse(path, "cannot be created: " +
                     (error ? error.message() : partial_path_.string() + " is in the way"));
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!partial_path_.empty()) fs::remove_all(partial_path_, ignored);
}

void OutputFolder::write(std::string_view name, std::string_view text) const {
  std::ofstream stream(partial_path_ / name, std::ios::binary);
  stream << text;
  stream.close();
  if (!stream) refuse(path_ / name, "cannot be written to its end");
}

void OutputFolder::copy(const fs::path& file) const {
  std::error_code error;
  fs::copy_file(file, partial_path_ / file.filename(), error);
  if (error) refuse(path_ / file.filename(), "cannot be written: " + error.message());
}

void OutputFolder::commit() {
  std::error_code error;
  fs::rename(partial_path_, path_, error);
  if (error) refuse(path_, "cannot be put in place: " + error.message());
  partial_path_.clear();
}

}  // namespace slip
