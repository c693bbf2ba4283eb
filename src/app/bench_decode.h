// What drafts gain on given prompts: every source and temperature, runs taken in turns.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/answer.h"

namespace slip {

// One way of drafting and its runs of one request. All give the same tokens; the times differ.
struct BenchArm {
  DraftOptions draft;
  Drafting drafting;
  std::vector<Answer> answers;
};

// NAME or NAME:DEPTH, like "auto" or "mtp:2". Throws Error{kInvalidArgument} for a depth that is
// none.
DraftOptions parse_draft(const std::string& text);

// The files themselves, and of folders what ends in .md or .txt, by name; README.md is none. Throws
// Error{kNotFound} for a path that is not there, Error{kInvalidArgument} where nothing is left.
std::vector<std::filesystem::path> find_prompts(std::span<const std::string> paths);

// Whether every run of every arm gave the tokens of the first run.
bool gave_same_tokens(std::span<const BenchArm> arms);

}  // namespace slip
