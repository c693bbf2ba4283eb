// The safetensors format: an 8-byte little-endian header length, a JSON header, the data.
// Files are hostile until parsed: every offset, shape and type is checked before a view is made.
// Source: the format section of https://github.com/huggingface/safetensors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"

namespace slip {

inline constexpr size_t kSafetensorsHeaderBytesMax = 100'000'000;
inline constexpr size_t kShapeRankMax = 16;

using TensorMap = std::map<std::string, TensorView, std::less<>>;

// Views into `bytes`, by name. `origin` names the file in errors.
// Throws Error{kCorruptFile}: header longer than the file or 100 MB, JSON that is not the expected
// object, unknown type, more than kShapeRankMax dimensions or 2^63 elements (dimensions of 0
// counted as 1, so that no partial product overflows), shape and range that disagree, ranges that
// overlap or leave gaps, names given twice.
TensorMap parse_safetensors(std::span<const std::byte> bytes, const std::string& origin);

struct NamedTensor {
  std::string name;
  TensorView tensor;
};

// A tensor that is going to be written.
struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;

  size_t n_bytes() const;
};

// Where a file called `path` would really be written: symbolic links followed, so that writing
// replaces what they name. Throws Error{kInvalidArgument} with the path when there is no such
// folder, or something there that is not a regular file. Ask before the work whose result is to be
// written.
std::filesystem::path resolve_output(const std::filesystem::path& path);

// Writes `tensors` in the order given, into a file beside `path` that then takes its place.
// Throws Error{kInvalidArgument} with the path when no file can be there, or with the name that
// occurs twice, is not UTF-8 or is "__metadata__"; Error{kOutputFailed} with the system's reason
// when the disk is full. A partial file is removed and an older file at `path` stays.
void write_safetensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

// The same for tensors whose bytes come piece by piece: memory does not depend on their size.
class SafetensorsWriter {
 public:
  // Begins a file beside `path`. Throws as write_safetensors does.
  SafetensorsWriter(const std::filesystem::path& path, std::span<const TensorSpec> tensors);
  ~SafetensorsWriter();  // without commit(): removes what was written
  SafetensorsWriter(SafetensorsWriter&&) noexcept;
  SafetensorsWriter& operator=(SafetensorsWriter&&) noexcept;

  // The next bytes of the tensors, in their order and without gaps. Throws Error{kOutputFailed}
  // when the disk is full.
  void write(std::span<const std::byte> bytes);

  // After the last byte: the file takes its place. Throws Error{kOutputFailed} where it cannot.
  void commit();

 private:
  class NewFile;
  std::unique_ptr<NewFile> file_;
  size_t n_left_;
};

}  // namespace slip
