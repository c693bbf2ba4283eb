#include "io/output_file.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace slip {

namespace {

namespace fs = std::filesystem;

constexpr int kNone = -1;
constexpr int kLinksMax = 40;  // as the kernel follows

[[noreturn]] void fail(ErrorCode code, const std::string& sentence, int reason) {
  throw Error(code, sentence + ": " + std::generic_category().message(reason));
}

[[noreturn]] void fail_to_end(const std::string& shown, int reason) {
  fail(ErrorCode::kOutputFailed, shown + ": cannot be written to its end", reason);
}

// Where the links at `path` lead, whether something is there or not; a link where they never end.
fs::path follow_links(fs::path path) {
  std::error_code error;
  for (int n = 0; n < kLinksMax && fs::is_symlink(path, error); ++n) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

// What is written first, and where it goes then.
struct Replacement {
  fs::path place, partial;
  std::optional<fs::perms> perms;  // of the file that is there
};

Replacement prepare_replacement(const fs::path& path, const std::string& shown) {
  Replacement result{.place = follow_links(path), .partial = {}, .perms = {}};
  result.partial = result.place.string() + ".partial-" + std::to_string(getpid());
  std::error_code error;
  if (fs::is_symlink(result.place, error)) fail(ErrorCode::kInvalidArgument, shown, ELOOP);
  const fs::file_status status = fs::status(result.place, error);
  if (fs::is_regular_file(status)) {
    result.perms = status.permissions();
  } else if (fs::exists(status)) {
    throw Error(ErrorCode::kInvalidArgument,
                shown + ": found " + (fs::is_directory(status) ? "a folder" : "a device or pipe") +
                    ", wanted a file or a name that is free");
  }
  return result;
}

}  // namespace

ErrorCode creation_error(int reason) {
  return reason == ENOSPC || reason == EDQUOT ? ErrorCode::kOutputFailed
                                              : ErrorCode::kInvalidArgument;
}

OutputFile::OutputFile(const std::filesystem::path& path, std::string shown, mode_t mode)
    : shown_(std::move(shown)),
      descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)) {
  const int reason = errno;
  if (descriptor_ == kNone) fail(creation_error(reason), shown_ + ": cannot be created", reason);
}

OutputFile::~OutputFile() {
  if (descriptor_ != kNone) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor_, bytes.data(), bytes.size());
    const int reason = errno;
    if (n < 0 && reason == EINTR) continue;
    if (n <= 0) fail_to_end(shown_, n < 0 ? reason : EIO);
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::sync() {
  if (::fsync(descriptor_) == 0) return;
  const int reason = errno;
  // Some file systems have nothing to wait for.
  if (reason != EINVAL && reason != EROFS) fail_to_end(shown_, reason);
}

void OutputFile::close() {
  if (::close(std::exchange(descriptor_, kNone)) == 0) return;
  const int reason = errno;
  fail_to_end(shown_, reason);
}

void write_text_file(const std::filesystem::path& path, const std::string& shown,
                     std::string_view text) {
  OutputFile file(path, shown);
  file.write(std::as_bytes(std::span(text)));
  file.close();
}

void replace_text_file(const fs::path& path, const std::string& shown, std::string_view text) {
  const Replacement to = prepare_replacement(path, shown);
  std::error_code error;
  try {
    // Nobody else may read it before it has the permissions of what it replaces.
    OutputFile file(to.partial, shown, to.perms ? 0600 : 0666);
    if (to.perms) fs::permissions(to.partial, *to.perms, error);
    file.write(std::as_bytes(std::span(text)));
    file.sync();
    file.close();
  } catch (const Error&) {
    fs::remove(to.partial, error);
    throw;
  }
  fs::rename(to.partial, to.place, error);
  if (!error) return;
  const int reason = error.value();
  fs::remove(to.partial, error);
  fail(creation_error(reason), shown + ": cannot be created", reason);
}

void check_replaceable(const fs::path& path, const std::string& shown) {
  const Replacement to = prepare_replacement(path, shown);
  OutputFile(to.partial, shown).close();
  std::error_code ignored;
  fs::remove(to.partial, ignored);
}

}  // namespace slip
