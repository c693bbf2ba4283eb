#include "app/output_folder.h"

#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "io/json_file.h"
#include "io/output_file.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, path.string() + ": " + reason);
}

[[noreturn]] void fail_to_place(const fs::path& path, const std::string& reason) {
  throw Error(ErrorCode::kOutputFailed, path.string() + ": cannot be put in place: " + reason);
}

// Symbolic links followed and a slash at the end removed, so that the last name is the folder's
// own.
fs::path resolve(const fs::path& path) {
  std::error_code error;
  fs::path full = fs::absolute(path, error);
  if (!error) full = fs::weakly_canonical(full, error);
  if (error) refuse(path, "cannot be written: " + error.message());
  return full.has_filename() ? full : full.parent_path();
}

std::vector<fs::path> names_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> names;
  fs::directory_iterator it(folder, error);
  while (!error && it != fs::directory_iterator()) {
    names.push_back(it->path().filename());
    it.increment(error);
  }
  return names;
}

// False where there is nothing. What is neither nothing nor an empty folder is refused by the name
// that the user gave it.
bool is_empty_folder(const fs::path& resolved, const fs::path& given) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(resolved, error);
  if (status.type() == fs::file_type::not_found) return false;
  if (!fs::status_known(status)) refuse(given, "cannot be written: " + error.message());
  // Links were followed: one that is left leads nowhere.
  if (fs::is_symlink(status)) refuse(given, "a link to nothing, wanted an empty folder or none");
  if (!fs::is_directory(status)) refuse(given, "not a folder, wanted an empty folder or none");
  const std::vector<fs::path> names = names_in(resolved, error);
  if (error) refuse(given, "cannot be read: " + error.message());
  if (names.empty()) return true;
  refuse(given,
         "found " + quote(names.front().string()) + " in it, wanted an empty folder or none");
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& path)
    : path_(resolve(path)), is_inside_(is_empty_folder(path_, path)) {
  const std::string name = ".partial-" + std::to_string(getpid());
  const fs::path partial = is_inside_ ? path_ / name : fs::path(path_.string() + name);
  std::error_code error;
  const bool is_new = fs::create_directory(partial, error);
  if (error) {
    throw Error(creation_error(error.value()),
                path.string() + ": " +
                    (is_inside_ ? "nothing can be created in it" : "cannot be created") + ": " +
                    error.message());
  }
  if (!is_new) refuse(path, "cannot be created: " + partial.string() + " is in the way");
  partial_path_ = partial;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!partial_path_.empty()) fs::remove_all(partial_path_, ignored);
}

void OutputFolder::write(std::string_view name, std::string_view text) const {
  write_text_file(partial_path_ / name, (path_ / name).string(), text);
}

void OutputFolder::copy(const fs::path& file) const {
  write(file.filename().string(), read_text_file(file));
}

void OutputFolder::commit() {
  std::error_code error;
  if (is_inside_) {
    move_up();
    fs::remove(partial_path_, error);
  } else {
    fs::rename(partial_path_, path_, error);
  }
  if (error) fail_to_place(path_, error.message());
  partial_path_.clear();
}

void OutputFolder::move_up() const {
  std::error_code error;
  for (const fs::path& name : names_in(path_, error)) {
    if (path_ / name != partial_path_)
      fail_to_place(path_, quote(name.string()) + " has come into it meanwhile");
  }
  std::vector<fs::path> names = names_in(partial_path_, error);
  std::partition(names.begin(), names.end(),
                 [](const fs::path& name) { return name != "config.json"; });
  for (const fs::path& name : names) {
    if (!error) fs::rename(partial_path_ / name, path_ / name, error);
  }
  if (error) fail_to_place(path_, error.message());
}

}  // namespace slip
