// What drafts gain on given prompts: every source and temperature, runs taken in turns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/answer.h"

namespace slip {

// NAME or NAME:DEPTH, like "auto" or "mtp:2". Throws Error{kInvalidArgument} for a depth that is
// none.
DraftOptions parse_draft(const std::string& text);

// The files themselves, and of folders what ends in .md or .txt, by name; README.md is none. Throws
// Error{kNotFound} for a path that is not there, Error{kInvalidArgument} where nothing is left.
std::vector<std::filesystem::path> find_prompts(std::span<const std::string> paths);

}  // namespace slip
