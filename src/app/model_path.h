// From what --model says to a folder on disk. Never touches the network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "app/environment.h"

namespace slip {

// Where Hugging Face's tools keep what they downloaded: HF_HUB_CACHE, else HF_HOME/hub, else
// XDG_CACHE_HOME/huggingface/hub, else ~/.cache/huggingface/hub. Nothing where no variable is set.
// Source: "Environment variables" of the huggingface_hub documentation.
std::optional<std::filesystem::path> hub_cache(const Environment& environment);

// A folder of that name wins; otherwise `model` may be "org/name" or "org/name@revision" of the
// cache, a revision being a branch, a tag or a commit, "main" where none is given.
// Throws Error{kNotFound} naming every place that was looked at and the snapshots that would have
// done, Error{kCorruptFile} for a cache
// entry that names no commit.
std::filesystem::path find_model(const std::string& model, const Environment& environment);

}  // namespace slip
