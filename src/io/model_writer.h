// The tensors of a new model folder, written as they come: one file, or shards with an index, named
// as Hugging Face and MLX name them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "io/safetensors.h"

namespace slip {

inline constexpr size_t kShardBytesMax = size_t{5'000'000'000};

// Cuts `tensors` into runs of at most `shard_bytes_max`, in order; a larger tensor is a run of its
// own. No tensors are one empty run. Pure.
std::vector<std::span<const TensorSpec>> plan_shards(std::span<const TensorSpec> tensors,
                                                     size_t shard_bytes_max);

class ModelWriter {
 public:
  // `folder` exists. Throws as SafetensorsWriter does.
  ModelWriter(std::filesystem::path folder, std::vector<TensorSpec> tensors,
              size_t shard_bytes_max);

  // The next bytes of the tensors, in their order; never more than one tensor's.
  void write(std::span<const std::byte> bytes);

  // After the last byte: finishes the last shard and writes the index where there are several.
  void commit();

 private:
  std::filesystem::path shard_path(size_t shard) const;
  void open_next_shard();

  std::filesystem::path folder_;
  std::vector<TensorSpec> tensors_;
  std::vector<std::span<const TensorSpec>> shards_;
  std::optional<SafetensorsWriter> writer_;  // of the shard before next_shard_
  size_t next_shard_ = 0;
  size_t n_left_ = 0;  // bytes of that shard still to come
};

}  // namespace slip
