// Everything that can be said of a model before it answers, as data. A model that cannot be loaded
// is described as far as its files go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/draft_probe.h"
#include "app/options.h"
#include "app/weight_summary.h"
#include "backend/runner.h"
#include "io/model_file.h"
#include "model/config.h"

namespace slip {

// A file beside the weights: what it is good for, or why not.
struct CompanionFile {
  bool is_present = false;
  std::string problem;  // the sentence of its refusal; empty: it parses
};

struct WeightFacts {
  std::vector<FormatSum> trunk, draft_head;
  int64_t bytes_copied = 0;         // rows that had to be brought into another order
  std::vector<std::string> unused;  // names of tensors that nothing asks for
};

struct Inspection {
  std::string folder;
  std::string model_type;
  int64_t file_bytes = 0;
  int64_t n_tensors = 0;
  std::vector<std::string> tensor_names;  // the first few, in order
  std::string problem;                    // why the model cannot run; empty: it can
  std::optional<ModelConfig> config;      // as far as it could be read
  std::optional<WeightFacts> weights;
  std::optional<RunnerInfo> plan;  // for the --context asked, or the default
  std::vector<LaneReport> lanes;   // of that plan
  double load_ms = 0;              // that a runner with this plan took to load
  CompanionFile tokenizer, chat_template;
  int32_t tokenizer_vocab_size = 0;
  std::optional<DraftProbe> draft_probe;  // nothing without head, tokenizer or room
};

// `options.model` is a folder. Throws Error only where there is no model to speak of: config.json
// or the weights cannot be opened, or an option cannot mean anything.
Inspection inspect(const ModelOptions& options);

}  // namespace slip
