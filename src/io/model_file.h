// A model folder as Hugging Face or MLX publish it, seen as one table of tensors and one
// configuration.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "io/mapped_file.h"
#include "io/safetensors.h"

namespace slip {

// Names the shards of a model that lies in several files.
inline constexpr std::string_view kIndexFile = "model.safetensors.index.json";

class ModelFile {
 public:
  // Maps `model.safetensors`, or every shard that `model.safetensors.index.json` names, and
  // `mtp.safetensors` where it lies beside them; reads `config.json`. Throws Error{kNotFound |
  // kCorruptFile} naming the file: missing folder, configuration or shard, a tensor that the index
  // promises and no shard holds, a tensor held twice, a shard name that leaves the folder.
  static ModelFile open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const nlohmann::json& config() const { return config_; }  // config.json, an object
  const TensorMap& tensors() const { return tensors_; }  // views stay valid while this object lives
  size_t n_bytes() const;                                // of all tensors

  // Once most tensors have been read for the last time: see MappedFile::release_pages().
  void release_pages() const;

  // The other files of the folder; empty paths where there is none. A link that leads nowhere is
  // a file that cannot be opened.
  std::filesystem::path tokenizer_json() const;
  std::filesystem::path tokenizer_config() const;
  std::filesystem::path chat_template() const;  // chat_template.jinja
  std::filesystem::path generation_config() const;

 private:
  std::filesystem::path folder_;
  nlohmann::json config_;
  std::vector<MappedFile> shards_;
  TensorMap tensors_;
};

}  // namespace slip
