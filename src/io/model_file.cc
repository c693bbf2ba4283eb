#include "io/model_file.h"

#include <set>
#include <string_view>

#include "base/error.h"
#include "io/json_file.h"

namespace slip {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kSingleFile = "model.safetensors";
constexpr std::string_view kSideCar = "mtp.safetensors";  // a draft head that came later

json read_json_object(const fs::path& path) {
  json value = parse_json(read_text_file(path), path.string());
  if (!value.is_object()) refuse_file(path, "not a JSON object");
  return value;
}

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

// Tensor name to shard name, as the index promises.
using WeightMap = std::map<std::string, std::string>;

WeightMap read_index(const fs::path& path) {
  const json index = read_json_object(path);
  const auto weight_map = index.find("weight_map");
  if (weight_map == index.end() || !weight_map->is_object()) {
    refuse_file(path, "weight_map is not an object");
  }
  WeightMap shard_of;
  for (const auto& [tensor, shard] : weight_map->items()) {
    if (!shard.is_string() || !is_plain_file_name(shard.get_ref<const std::string&>())) {
      refuse_file(path, "the shard of " + quote(tensor) + " is not a plain file name");
    }
    shard_of.emplace(tensor, shard.get<std::string>());
  }
  return shard_of;
}

// A link that leads nowhere counts: opening it says so.
fs::path existing_file(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored)) ? path : fs::path();
}

}  // namespace

ModelFile ModelFile::open(const fs::path& folder) {
  ModelFile model;
  model.folder_ = folder;
  model.config_ = read_json_object(folder / "config.json");

  const fs::path index_path = folder / kIndexFile;
  const bool has_single_file = !existing_file(folder / kSingleFile).empty();
  const WeightMap shard_of = has_single_file ? WeightMap() : read_index(index_path);
  std::set<std::string> shard_names;
  if (has_single_file) shard_names.emplace(kSingleFile);
  for (const auto& [tensor, shard] : shard_of) shard_names.insert(shard);
  if (!existing_file(folder / kSideCar).empty()) shard_names.emplace(kSideCar);

  for (const std::string& shard_name : shard_names) {
    const fs::path path = folder / shard_name;
    const MappedFile& shard = model.shards_.emplace_back(path);
    TensorMap tensors = parse_safetensors(shard.bytes(), path.string());
    model.tensors_.merge(tensors);
    if (!tensors.empty()) {
      refuse_file(path, "tensor " + quote(tensors.begin()->first) + " is in another shard too");
    }
  }
  for (const auto& [tensor, shard] : shard_of) {
    if (!model.tensors_.contains(tensor)) {
      refuse_file(index_path, "tensor " + quote(tensor) + " is in no shard");
    }
  }
  return model;
}

size_t ModelFile::n_bytes() const {
  size_t n = 0;
  for (const auto& [name, tensor] : tensors_) n += tensor.n_bytes;
  return n;
}

void ModelFile::release_pages() const {
  for (const MappedFile& shard : shards_) shard.release_pages();
}

fs::path ModelFile::tokenizer_json() const { return existing_file(folder_ / "tokenizer.json"); }

fs::path ModelFile::tokenizer_config() const {
  return existing_file(folder_ / "tokenizer_config.json");
}

fs::path ModelFile::chat_template() const { return existing_file(folder_ / "chat_template.jinja"); }

fs::path ModelFile::generation_config() const {
  return existing_file(folder_ / "generation_config.json");
}

}  // namespace slip
