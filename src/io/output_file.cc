#include "io/output_file.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace slip {

namespace {

constexpr int kNone = -1;

[[noreturn]] void fail(ErrorCode code, const std::string& sentence, int reason) {
  throw Error(code, sentence + ": " + std::generic_category().message(reason));
}

[[noreturn]] void fail_to_end(const std::string& shown, int reason) {
  fail(ErrorCode::kOutputFailed, shown + ": cannot be written to its end", reason);
}

}  // namespace

ErrorCode creation_error(int reason) {
  return reason == ENOSPC || reason == EDQUOT ? ErrorCode::kOutputFailed
                                              : ErrorCode::kInvalidArgument;
}

OutputFile::OutputFile(const std::filesystem::path& path, std::string shown)
    : shown_(std::move(shown)),
      descriptor_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
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

}  // namespace slip
