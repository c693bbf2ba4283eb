// slipstream inspect: what a model is and what running it would take, as text or JSON.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/inspection.h"
#include "app/interrupt.h"
#include "app/lanes_json.h"
#include "app/standard_output.h"
#include "base/json.h"
#include "tensor/quant.h"

namespace slip {

namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kUnusedShown = 8;

int64_t count_layers(const ModelConfig& config, FfnKind kind) {
  int64_t n = 0;
  for (const LayerConfig& layer : config.layers) n += layer.ffn == kind ? 1 : 0;
  return n;
}

Json config_json(const ModelConfig& c) {
  Json json = {{"family", c.family},
               {"vocab_size", c.vocab_size},
               {"hidden_size", c.hidden_size},
               {"intermediate_size", c.intermediate_size},
               {"context_tokens_max", c.context_tokens_max},
               {"tied_embeddings", c.tie_word_embeddings},
               {"layers",
                {{"attention", c.n_layers(MixerKind::kAttention)},
                 {"delta_net", c.n_layers(MixerKind::kDeltaNet)},
                 {"with_dense_ffn", count_layers(c, FfnKind::kDense)},
                 {"with_experts", count_layers(c, FfnKind::kExperts)}}},
               {"attention",
                {{"heads", c.attention.n_heads},
                 {"kv_heads", c.attention.n_kv_heads},
                 {"head_dim", c.attention.head_dim},
                 {"rotary_dims", c.attention.rotary_dims()}}}};
  if (c.n_layers(MixerKind::kDeltaNet) > 0) {
    json["delta_net"] = {{"key_heads", c.delta_net.n_key_heads},
                         {"value_heads", c.delta_net.n_value_heads},
                         {"key_dim", c.delta_net.key_dim},
                         {"value_dim", c.delta_net.value_dim}};
  }
  if (c.experts.n_experts > 0) {
    json["experts"] = {{"count", c.experts.n_experts},
                       {"per_token", c.experts.n_experts_per_token},
                       {"intermediate_size", c.experts.intermediate_size},
                       {"shared_intermediate_size", c.experts.shared_intermediate_size}};
  }
  return json;
}

Json formats_json(const std::vector<FormatSum>& sums) {
  Json json = Json::array();
  for (const FormatSum& sum : sums) {
    json.push_back(
        {{"format", name(sum.format)}, {"matrices", sum.n_matrices}, {"bytes", sum.n_bytes}});
  }
  return json;
}

Json weights_json(const WeightFacts& weights) {
  Json names = Json::array();
  for (size_t i = 0; i < std::min(weights.unused.size(), kUnusedShown); ++i)
    names.push_back(weights.unused[i]);
  return {{"formats", formats_json(weights.trunk)},
          {"copied_at_load_bytes", weights.bytes_copied},
          {"unused_tensors", {{"count", weights.unused.size()}, {"first", names}}}};
}

int64_t step_bytes(const RunnerInfo& plan, int64_t n_tokens) {
  return plan.step_weight_bytes + n_tokens * plan.step_cache_bytes_per_token;
}

Json plan_json(const RunnerInfo& plan) {
  return {{"context_tokens", plan.context_tokens_max},
          {"weight_bytes", plan.weight_bytes},
          {"packed_weight_bytes", plan.packed_weight_bytes},
          {"workspace_bytes", plan.workspace_bytes},
          {"cache_bytes", plan.cache_bytes},
          {"cache_type", name(plan.kv_type)},
          {"cache_bytes_per_token", plan.cache_bytes_per_token},
          {"state_bytes_per_sequence", plan.state_bytes},
          {"sequences_max", plan.states_max},
          {"decode_read_bytes_at_context_0", step_bytes(plan, 0)},
          {"decode_read_bytes_at_full_context", step_bytes(plan, plan.context_tokens_max)}};
}

// The kernel table, then the lanes.
Json all_lanes_json(const RunnerInfo& plan, const std::vector<LaneReport>& lanes) {
  Json json = {{{"name", "kernels"}, {"uses", plan.kernels}, {"device", plan.device}}};
  for (Json& lane : lanes_json(lanes)) json.push_back(std::move(lane));
  return json;
}

Json companion_json(const CompanionFile& file) {
  return {{"is_present", file.is_present},
          {"is_usable", file.is_present && file.problem.empty()},
          {"problem", file.problem.empty() ? Json() : Json(file.problem)}};
}

Json draft_head_json(const Inspection& i) {
  Json json = {{"is_present", i.config && i.config->has_draft_head}};
  if (i.weights) json["formats"] = formats_json(i.weights->draft_head);
  if (i.draft_probe) {
    json["probe"] = {{"drafts", i.draft_probe->n_drafts},
                     {"accepted", i.draft_probe->n_accepted},
                     {"acceptance", i.draft_probe->acceptance()},
                     {"is_plausible", i.draft_probe->is_plausible}};
  }
  return json;
}

Json to_json(const Inspection& i) {
  Json json = {{"folder", i.folder},
               {"model_type", i.model_type},
               {"can_run", i.problem.empty()},
               {"unsupported", i.problem.empty() ? Json::array() : Json::array({i.problem})},
               {"file_bytes", i.file_bytes},
               {"tensors", {{"count", i.n_tensors}, {"first", i.tensor_names}}}};
  if (i.config) json["config"] = config_json(*i.config);
  if (i.weights) json["weights"] = weights_json(*i.weights);
  json["draft_head"] = draft_head_json(i);
  json["tokenizer"] = companion_json(i.tokenizer);
  if (i.tokenizer_vocab_size > 0) json["tokenizer"]["vocab_size"] = i.tokenizer_vocab_size;
  json["chat_template"] = companion_json(i.chat_template);
  if (i.plan) {
    json["plan"] = plan_json(*i.plan);
    json["plan"]["load_ms"] = i.load_ms;
    json["lanes"] = all_lanes_json(*i.plan, i.lanes);
  }
  return json;
}

void print_row(const char* label, const std::string& value) {
  std::printf("%-16s %s\n", label, value.c_str());
}

std::string number(int64_t n) { return std::to_string(n); }

void print_config(const ModelConfig& c) {
  print_row("family", c.family + ", hidden size " + number(c.hidden_size) + ", vocabulary " +
                          number(c.vocab_size) + ", context " + number(c.context_tokens_max));
  std::string layers = number(static_cast<int64_t>(c.layers.size())) + ": " +
                       number(c.n_layers(MixerKind::kAttention)) + " attention (" +
                       number(c.attention.n_heads) + " query and " +
                       number(c.attention.n_kv_heads) + " key heads of " +
                       number(c.attention.head_dim) + ")";
  if (const int32_t n = c.n_layers(MixerKind::kDeltaNet); n > 0)
    layers += ", " + number(n) + " delta net";
  print_row("layers", layers);
  if (c.experts.n_experts > 0) {
    print_row("experts", number(c.experts.n_experts) + ", " +
                             number(c.experts.n_experts_per_token) + " for each token" +
                             (c.experts.shared_intermediate_size > 0 ? ", one shared" : ""));
  }
}

void print_formats(const char* label, const std::vector<FormatSum>& sums) {
  for (const FormatSum& sum : sums) {
    print_row(label, std::string(name(sum.format)) + ": " + number(sum.n_matrices) + " matrices, " +
                         format_bytes(sum.n_bytes));
    label = "";
  }
}

void print_unused(const std::vector<std::string>& unused) {
  if (unused.empty()) return;
  std::string text = number(static_cast<int64_t>(unused.size())) + " tensors, the first is ";
  print_row("not used", text + one_line(unused.front()));
}

void print_companion(const char* label, const CompanionFile& file, const std::string& good) {
  if (!file.is_present) {
    print_row(label, "none");
  } else {
    print_row(label, file.problem.empty() ? good : "cannot be used: " + one_line(file.problem));
  }
}

void print_draft_head(const Inspection& i) {
  if (!i.config) return;
  if (!i.config->has_draft_head) return print_row("draft head", "none");
  if (i.weights) print_formats("draft head", i.weights->draft_head);
  if (!i.draft_probe) {
    return print_row("draft probe",
                     "not made: it needs a model that runs, its tokenizer and room for 61 tokens");
  }
  char text[160];
  std::snprintf(text, sizeof(text), "%d of %d guesses right (%.0f %%)%s", i.draft_probe->n_accepted,
                i.draft_probe->n_drafts, 100 * i.draft_probe->acceptance(),
                i.draft_probe->is_plausible
                    ? ""
                    : ": implausible, a sound head has 70 to 85 %; see \"generate --draft mtp\"");
  print_row("draft probe", text);
}

void print_plan(const RunnerInfo& plan, double load_ms) {
  print_row("runs on", plan.device + ", loaded in " + number(std::llround(load_ms)) + " ms");
  const std::string packed =
      plan.packed_weight_bytes == 0
          ? ""
          : ", again in the kernels' order " + format_bytes(plan.packed_weight_bytes);
  print_row("plan", "weights " + format_bytes(plan.weight_bytes) + packed + ", workspace " +
                        format_bytes(plan.workspace_bytes) + ", cache " +
                        format_bytes(plan.cache_bytes) + " for a context of " +
                        number(plan.context_tokens_max));
  print_row("each token", format_bytes(plan.cache_bytes_per_token) + " of cache, " +
                              std::string(name(plan.kv_type)));
  print_row("each sequence", format_bytes(plan.state_bytes) + " of state");
  print_row("a decode step", "reads " + format_bytes(step_bytes(plan, 0)) + ", at full context " +
                                 format_bytes(step_bytes(plan, plan.context_tokens_max)));
}

void print_lanes(const std::vector<LaneReport>& lanes) {
  for (const LaneReport& lane : lanes) {
    const std::string label = "lane " + lane.lane;
    const std::string about =
        lane.is_on ? ", " + std::string(name(lane.lane_class)) + ", self-check passed"
                   : ": " + lane.why_not;
    print_row(label.c_str(), lane.kernel + about);
  }
}

void print_text(const Inspection& i) {
  print_row("model", one_line(i.folder));
  print_row("file", format_bytes(i.file_bytes) + " in " + number(i.n_tensors) + " tensors");
  if (i.config) {
    print_config(*i.config);
  } else {
    print_row("model_type", i.model_type.empty() ? "none" : one_line(i.model_type));
    for (const std::string& tensor : i.tensor_names) print_row("tensor", one_line(tensor));
  }
  if (i.weights) {
    print_formats("weights", i.weights->trunk);
    print_row("copied at load", format_bytes(i.weights->bytes_copied));
    print_unused(i.weights->unused);
  }
  print_draft_head(i);
  print_companion("tokenizer", i.tokenizer, number(i.tokenizer_vocab_size) + " tokens");
  print_companion("chat template", i.chat_template, "usable");
  if (i.plan) print_plan(*i.plan, i.load_ms);
  print_lanes(i.lanes);
  if (!i.problem.empty()) print_row("cannot run", one_line(i.problem));
}

}  // namespace

int run_inspect(const InspectOptions& options) {
  const Inspection inspection = inspect(options.model);
  if (is_interrupted()) return kExitInterrupted;  // what the probe did not finish is no fact
  if (options.is_json) {
    std::printf("%s\n", to_text(to_json(inspection), 2).c_str());
  } else {
    print_text(inspection);
  }
  return inspection.problem.empty() ? 0 : 1;
}

}  // namespace slip
