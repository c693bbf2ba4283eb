#include "io/model_writer.h"

#include <cstdio>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "io/model_file.h"
#include "io/output_file.h"

namespace slip {

namespace {

size_t sum_of_bytes(std::span<const TensorSpec> tensors) {
  size_t sum = 0;
  for (const TensorSpec& tensor : tensors) sum += tensor.n_bytes();
  return sum;
}

}  // namespace

std::vector<std::span<const TensorSpec>> plan_shards(std::span<const TensorSpec> tensors,
                                                     size_t shard_bytes_max) {
  std::vector<std::span<const TensorSpec>> shards;
  size_t begin = 0;
  size_t n_bytes = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (i > begin && n_bytes + tensors[i].n_bytes() > shard_bytes_max) {
      shards.push_back(tensors.subspan(begin, i - begin));
      begin = i;
      n_bytes = 0;
    }
    n_bytes += tensors[i].n_bytes();
  }
  shards.push_back(tensors.subspan(begin));
  return shards;
}

ModelWriter::ModelWriter(std::filesystem::path folder, std::vector<TensorSpec> tensors,
                         size_t shard_bytes_max)
    : folder_(std::move(folder)),
      tensors_(std::move(tensors)),
      shards_(plan_shards(tensors_, shard_bytes_max)) {
  open_next_shard();
}

std::filesystem::path ModelWriter::shard_path(size_t shard) const {
  if (shards_.size() == 1) return folder_ / "model.safetensors";
  char name[64];
  std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", shard + 1, shards_.size());
  return folder_ / name;
}

void ModelWriter::open_next_shard() {
  const size_t shard = next_shard_++;
  writer_.emplace(shard_path(shard), shards_[shard]);
  n_left_ = sum_of_bytes(shards_[shard]);
}

void ModelWriter::write(std::span<const std::byte> bytes) {
  while (n_left_ == 0 && !bytes.empty()) {
    SLIP_CHECK(next_shard_ < shards_.size());
    writer_->commit();
    open_next_shard();
  }
  SLIP_CHECK(bytes.size() <= n_left_);
  n_left_ -= bytes.size();
  writer_->write(bytes);
}

void ModelWriter::commit() {
  while (next_shard_ < shards_.size()) {  // what is left are tensors without elements
    SLIP_CHECK(n_left_ == 0);
    writer_->commit();
    open_next_shard();
  }
  writer_->commit();
  if (shards_.size() == 1) return;
  nlohmann::ordered_json index = {{"metadata", {{"total_size", sum_of_bytes(tensors_)}}},
                                  {"weight_map", nlohmann::ordered_json::object()}};
  for (size_t i = 0; i < shards_.size(); ++i) {
    for (const TensorSpec& tensor : shards_[i])
      index["weight_map"][tensor.name] = shard_path(i).filename().string();
  }
  const std::filesystem::path path = folder_ / kIndexFile;
  write_text_file(path, path.string(), index.dump(2) + "\n");
}

}  // namespace slip
