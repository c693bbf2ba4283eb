// Writing safetensors; the reading half is safetensors.cc.
#include <system_error>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/check.h"
#include "base/error.h"
#include "io/json_file.h"
#include "io/output_file.h"
#include "io/safetensors.h"

namespace slip {
namespace {

using nlohmann::json;

constexpr size_t kHeaderAlignment =
    8;  // so that the data of a mapped file is aligned for every type

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorCode::kInvalidArgument, path.string() + ": " + reason);
}

std::string make_header(const std::filesystem::path& path, std::span<const TensorSpec> tensors) {
  json header = json::object();
  uint64_t n_data = 0;
  for (const TensorSpec& tensor : tensors) {
    if (tensor.name == "__metadata__" || header.contains(tensor.name)) {
      refuse(path, "the name " + quote(tensor.name) + " is taken");
    }
    header[tensor.name] = {{"dtype", name(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {n_data, n_data + tensor.n_bytes()}}};
    n_data += tensor.n_bytes();
  }
  try {
    std::string text = header.dump();
    text.resize((text.size() + kHeaderAlignment - 1) / kHeaderAlignment * kHeaderAlignment, ' ');
    return text;
  } catch (const json::type_error&) {
    refuse(path, "a tensor's name is not UTF-8");
  }
}

}  // namespace

size_t TensorSpec::n_bytes() const {
  size_t n = element_bytes(dtype);
  for (const int64_t size : shape) n *= static_cast<size_t>(size);
  return n;
}

std::filesystem::path resolve_output(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path full =
      std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
  if (error) refuse(path, "cannot be written: " + error.message());
  if (!std::filesystem::is_directory(full.parent_path(), error))
    refuse(path, "its folder does not exist, wanted one");
  const std::filesystem::file_status status = std::filesystem::status(full, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    refuse(path, "exists and is not a regular file, wanted one or none");
  }
  return full;
}

// A new file under a temporary name that is removed again unless commit() gives it its real one.
class SafetensorsWriter::NewFile {
 public:
  explicit NewFile(const std::filesystem::path& path)
      : path_(resolve_output(path)),
        partial_path_(path_.string() + ".partial-" + std::to_string(getpid())),
        file_(partial_path_, path_.string()) {}
  ~NewFile() {
    std::error_code ignored;
    std::filesystem::remove(partial_path_, ignored);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::span<const std::byte> bytes) { file_.write(bytes); }

  void commit() {
    file_.close();
    std::error_code error;
    std::filesystem::rename(partial_path_, path_, error);
    if (error) {
      throw Error(ErrorCode::kOutputFailed,
                  path_.string() + ": cannot be replaced: " + error.message());
    }
  }

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_path_;
  OutputFile file_;
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path,
                                     std::span<const TensorSpec> tensors)
    : n_left_(0) {
  const std::string header = make_header(path, tensors);
  const uint64_t n_header = header.size();
  for (const TensorSpec& tensor : tensors) n_left_ += tensor.n_bytes();
  file_ = std::make_unique<NewFile>(path);
  file_->write(std::as_bytes(std::span(&n_header, 1)));
  file_->write(std::as_bytes(std::span(header)));
}

SafetensorsWriter::~SafetensorsWriter() = default;
SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter& SafetensorsWriter::operator=(SafetensorsWriter&&) noexcept = default;

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
  SLIP_CHECK(bytes.size() <= n_left_);
  n_left_ -= bytes.size();
  file_->write(bytes);
}

void SafetensorsWriter::commit() {
  SLIP_CHECK(n_left_ == 0);
  file_->commit();
}

void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) {
    specs.push_back({.name = name, .dtype = tensor.dtype, .shape = tensor.shape});
    SLIP_CHECK(tensor.n_bytes == specs.back().n_bytes());
  }
  SafetensorsWriter writer(path, specs);
  for (const NamedTensor& named : tensors) writer.write({named.tensor.data, named.tensor.n_bytes});
  writer.commit();
}

}  // namespace slip
