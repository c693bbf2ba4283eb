// inspect, convert and eval as a user runs them.

#include <deque>
#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/commands.h"
#include "app/draft_probe.h"
#include "app/inspection.h"
#include "app/testing/embedded_model.h"
#include "app/testing/full_standard_output.h"
#include "app/testing/standard_input.h"
#include "backend/testing/random_model.h"
#include "base/cpu_features.h"
#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/testing/file_size_limit.h"
#include "io/testing/temporary_folder.h"
#include "tensor/dtype.h"

namespace slip {
namespace {

namespace fs = std::filesystem;
using test::fails_with;
using test::TemporaryFolder;

const fs::path kModelFolder = test::kEmbeddedModel;

// The output of a command that ends with `status`.
template <class Run>
std::string output_of(int status, Run run) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run(), status);
  return testing::internal::GetCapturedStdout();
}

nlohmann::json inspect_json(const fs::path& folder, int status = 0) {
  const InspectOptions options{.model = {.model = folder.string(), .n_threads = 1},
                               .is_json = true};
  return nlohmann::json::parse(output_of(status, [&] { return run_inspect(options); }));
}

std::string inspect_text(const fs::path& folder, int status = 0) {
  const InspectOptions options{.model = {.model = folder.string(), .n_threads = 1}};
  return output_of(status, [&] { return run_inspect(options); });
}

// Random weights in BF16 with the embedded model's tokenizer.
class SourceModel {
 public:
  explicit SourceModel(uint64_t seed = 1)
      : folder_({.seed = seed,
                 .vocab_size = 8192,
                 .layers = {RandomMixer::kDeltaNet, RandomMixer::kAttention}}) {
    fs::copy(kModelFolder / "tokenizer.json", path());
    fs::copy(kModelFolder / "chat_template.jinja", path());
    fs::copy(kModelFolder / "generation_config.json", path());
  }
  fs::path path() const { return folder_.path(); }

 private:
  RandomModelFolder folder_;
};

ConvertOptions convert_options(const fs::path& source, const fs::path& out, int32_t bits) {
  return {
      .model = {.model = source.string(), .n_threads = 1},
      .out = out.string(),
      .bits = bits,
      .group_size = 32,
      .min_agreement = 0.5};  // of random weights the largest logit is hardly larger than the next
}

TEST(Inspect, SaysWhatTheEmbeddedModelIs) {
  const nlohmann::json i = inspect_json(kModelFolder);
  EXPECT_EQ(i["can_run"], true);
  EXPECT_EQ(i["unsupported"], nlohmann::json::array());
  EXPECT_EQ(i["config"]["family"], "qwen3_5");
  EXPECT_EQ(i["config"]["layers"]["attention"], 2);
  EXPECT_EQ(i["config"]["layers"]["delta_net"], 6);
  EXPECT_EQ(i["tokenizer"]["vocab_size"], 8185);
  EXPECT_EQ(i["chat_template"]["is_usable"], true);
  EXPECT_EQ(i["weights"]["unused_tensors"]["count"], 0);
  EXPECT_EQ(i["draft_head"]["is_present"], true);
  EXPECT_EQ(i["lanes"][0]["name"], "kernels");
}

TEST(Inspect, ShowsLanesWithTheirClassAndWhyTheyAreOff) {
  InspectOptions options{.model = {.model = kModelFolder.string(),
                                   .lanes = {{"attention", "off"}, {"product", "strips"}},
                                   .n_threads = 1},
                         .is_json = true};
  const auto i = nlohmann::json::parse(output_of(0, [&] { return run_inspect(options); }));
  const nlohmann::json& attention = i["lanes"][1];
  EXPECT_EQ(attention["name"], "attention");
  EXPECT_EQ(attention["uses"], "fma");
  EXPECT_EQ(attention["is_on"], false);
  EXPECT_EQ(attention["why_not"], "switched off by an option");
  const nlohmann::json& product = i["lanes"][2];
  EXPECT_EQ(product["uses"], "strips");
  EXPECT_EQ(product["class"], "exact");
  EXPECT_EQ(product["why_not"], nullptr);
}

TEST(Inspect, CountsTheBytesOfEveryFormat) {
  const nlohmann::json i = inspect_json(kModelFolder);
  int64_t sum = 0;
  for (const auto& format : i["weights"]["formats"]) sum += format["bytes"].get<int64_t>();
  for (const auto& format : i["draft_head"]["formats"]) sum += format["bytes"].get<int64_t>();
  EXPECT_EQ(sum, i["plan"]["weight_bytes"]);
  EXPECT_EQ(i["weights"]["formats"].back()["format"], "affine8");
}

TEST(Inspect, PlansForTheContextThatIsAsked) {
  InspectOptions options{
      .model = {.model = kModelFolder.string(), .n_threads = 1, .context_tokens = 1000},
      .is_json = true};
  const auto i = nlohmann::json::parse(output_of(0, [&] { return run_inspect(options); }));
  const nlohmann::json& plan = i["plan"];
  EXPECT_EQ(plan["context_tokens"], 1000);
  EXPECT_GT(plan["load_ms"], 0);
  // Two of the three layers with a cache belong to the trunk.
  EXPECT_EQ(plan["decode_read_bytes_at_full_context"].get<int64_t>() -
                plan["decode_read_bytes_at_context_0"].get<int64_t>(),
            1000 * plan["cache_bytes_per_token"].get<int64_t>() / 3 * 2);
}

TEST(Inspect, FindsTheDraftHeadOfTheEmbeddedModelPlausible) {
  const nlohmann::json probe = inspect_json(kModelFolder)["draft_head"]["probe"];
  EXPECT_EQ(probe["drafts"], 48);
  EXPECT_EQ(probe["is_plausible"], true);
  EXPECT_GT(probe["acceptance"], 0.4);
}

TEST(Inspect, GoesAsFarAsARefusedModelAllows) {
  const RandomModelFolder folder({});
  nlohmann::json config = nlohmann::json::parse(read_text_file(folder.path() / "config.json"));
  config["text_config"]["hidden_size"] = 128;  // the tensors say 64
  std::ofstream(folder.path() / "config.json") << config;
  const nlohmann::json i = inspect_json(folder.path(), 1);
  EXPECT_EQ(i["can_run"], false);
  EXPECT_NE(i["unsupported"][0].get<std::string>().find("shape"), std::string::npos);
  EXPECT_EQ(i["config"]["hidden_size"], 128);
  EXPECT_FALSE(i.contains("plan"));
}

TEST(Inspect, NamesTensorsOfAFamilyItDoesNotKnow) {
  const RandomModelFolder folder({});
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "gpt2"})";
  const nlohmann::json i = inspect_json(folder.path(), 1);
  EXPECT_EQ(i["model_type"], "gpt2");
  EXPECT_FALSE(i.contains("config"));
  EXPECT_EQ(i["tensors"]["first"][0], "lm_head.weight");
}

TEST(Inspect, SaysWhyATokenizerOrTemplateIsOfNoUse) {
  const SourceModel model;
  std::ofstream(model.path() / "tokenizer.json") << "{}";
  std::ofstream(model.path() / "chat_template.jinja") << "{% what %}";
  const nlohmann::json i = inspect_json(model.path());
  EXPECT_EQ(i["tokenizer"]["is_usable"], false);
  EXPECT_NE(i["tokenizer"]["problem"].get<std::string>().find("tokenizer.json"), std::string::npos);
  EXPECT_EQ(i["chat_template"]["is_present"], true);
  EXPECT_EQ(i["chat_template"]["is_usable"], false);
}

TEST(Inspect, SaysWhereALinkToATokenizerLeads) {
  const SourceModel model;
  fs::remove(model.path() / "tokenizer.json");
  fs::create_symlink("../../blobs/0123", model.path() / "tokenizer.json");
  const nlohmann::json i = inspect_json(model.path());
  EXPECT_EQ(i["tokenizer"]["is_present"], true);
  EXPECT_NE(i["tokenizer"]["problem"].get<std::string>().find("a link to \"../../blobs/0123\""),
            std::string::npos);
}

TEST(Inspect, FindsTheTemplateOfAnOlderFolder) {
  const SourceModel model;
  fs::remove(model.path() / "chat_template.jinja");
  EXPECT_EQ(inspect_json(model.path())["chat_template"]["is_present"], false);
  std::ofstream(model.path() / "tokenizer_config.json") << R"({"chat_template": "{{ messages }}"})";
  EXPECT_EQ(inspect_json(model.path())["chat_template"]["is_usable"], true);
}

TEST(Inspect, SaysTheSameInWords) {
  const std::string text = inspect_text(kModelFolder);
  for (const char* words : {"qwen3_5", "affine8: ", "draft probe", "48 guesses right",
                            "8185 tokens", "chat template", "a decode step"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  }
}

TEST(Inspect, SaysInWordsWhatCannotRun) {
  const RandomModelFolder folder({});
  std::ofstream(folder.path() / "config.json") << R"({"model_type": "gpt2"})";
  const std::string text = inspect_text(folder.path(), 1);
  EXPECT_NE(text.find("cannot run"), std::string::npos) << text;
  EXPECT_NE(text.find("lm_head.weight"), std::string::npos) << text;
}

// The embedded model with the norms of its draft head as a broken pack has them: some without their
// added one, their neighbours large enough to hide that.
class DamagedHead {
 public:
  DamagedHead() {
    fs::copy(kModelFolder, folder_.path(), fs::copy_options::recursive);
    const ModelFile file = ModelFile::open(kModelFolder);
    std::vector<NamedTensor> tensors;
    for (const auto& [name, tensor] : file.tensors()) {
      tensors.push_back({name, tensor});
      for (const auto& [ending, change] : kChanges) {
        if (name.ends_with(ending)) tensors.back().tensor = changed(tensor, change);
      }
    }
    EXPECT_EQ(values_.size(), std::size(kChanges));
    write_safetensors(folder_.path() / "model.safetensors", tensors);
  }
  ModelSession load() const {
    return load_session({.model = folder_.path().string(), .n_threads = 1, .context_tokens = 512});
  }

 private:
  static constexpr std::pair<const char*, float> kChanges[] = {
      {"mtp.pre_fc_norm_hidden.weight", -1.0f},
      {"mtp.pre_fc_norm_embedding.weight", 0.2f},
      {"mtp.layers.0.input_layernorm.weight", -1.0f},
      {"mtp.norm.weight", -1.0f}};

  TensorView changed(TensorView tensor, float change) {
    std::vector<BFloat16>& values = values_.emplace_back();
    for (const float w : to_floats(tensor)) values.push_back(to_bfloat16(w + change));
    tensor.dtype = DType::kBF16;
    tensor.data = reinterpret_cast<const std::byte*>(values.data());
    tensor.n_bytes = values.size() * sizeof(BFloat16);
    return tensor;
  }

  TemporaryFolder folder_;
  std::deque<std::vector<BFloat16>> values_;
};

TEST(DraftProbe, FindsDamagedNormsImplausible) {
  const ModelSession session = DamagedHead().load();
  const std::optional<DraftProbe> probe = probe_draft_head(session, {});
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->n_drafts, 48);
  EXPECT_FALSE(probe->is_plausible);
}

TEST(DraftProbe, StopsEarlyWithTheSameVerdict) {
  const ModelSession sound = load_session({.model = kModelFolder.string(), .n_threads = 1});
  const ModelSession damaged = DamagedHead().load();
  const auto sound_probe = probe_draft_head(sound, {.stops_once_decided = true});
  const auto damaged_probe = probe_draft_head(damaged, {.stops_once_decided = true});
  EXPECT_TRUE(sound_probe->is_plausible);
  EXPECT_LT(sound_probe->n_drafts, 36);
  EXPECT_EQ(sound_probe->n_accepted, 12);
  EXPECT_FALSE(damaged_probe->is_plausible);
  EXPECT_LT(damaged_probe->n_drafts, 48);
}

TEST(DraftProbe, IsNotTakenWhereItWouldLast) {
  const ModelSession session = load_session({.model = kModelFolder.string(), .n_threads = 1});
  EXPECT_FALSE(probe_draft_head(session, {.milliseconds_max = 0}));
}

TEST(DraftProbe, NeedsRoomInTheContext) {
  const ModelSession session =
      load_session({.model = kModelFolder.string(), .n_threads = 1, .context_tokens = 40});
  EXPECT_FALSE(probe_draft_head(session, {}));
}

TEST(DraftProbe, GivesItsStateBack) {
  const ModelSession session = load_session({.model = kModelFolder.string(), .n_threads = 1});
  for (int i = 0; i < session.runner->info().states_max + 1; ++i)
    EXPECT_TRUE(probe_draft_head(session, {.stops_once_decided = true}));
}

TEST(DraftProbe, WarnsWithTheLikelyCauses) {
  const ModelSession session = DamagedHead().load();
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();  // where the library logs unless the program says otherwise
  warn_of_draft_head(session, std::numeric_limits<double>::infinity());
  const std::string text =
      testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("mtp.fc"), std::string::npos) << text;
}

TEST(Convert, WritesAModelThatLoadsAndKeepsTheFilesBesideIt) {
  const SourceModel source;
  const TemporaryFolder home;
  const fs::path out = home.path() / "out";
  const std::string text =
      output_of(0, [&] { return run_convert(convert_options(source.path(), out, 8)); });
  EXPECT_TRUE(text.starts_with(out.string() + ": ")) << text;
  EXPECT_NE(text.find("KL divergence from the source: mean"), std::string::npos) << text;
  const nlohmann::json i = inspect_json(out);
  EXPECT_EQ(i["can_run"], true);
  EXPECT_EQ(i["weights"]["formats"].back()["format"], "affine8");
  EXPECT_EQ(i["draft_head"]["formats"][0]["format"], "affine8");
  for (const char* name : {"tokenizer.json", "chat_template.jinja", "generation_config.json"})
    EXPECT_EQ(read_text_file(out / name), read_text_file(source.path() / name)) << name;
  EXPECT_EQ(std::distance(fs::directory_iterator(home.path()), fs::directory_iterator()), 1);
}

TEST(Convert, RemovesWhatLosesTooMuch) {
  const SourceModel source;
  const TemporaryFolder home;
  ConvertOptions options = convert_options(source.path(), home.path() / "out", 4);
  options.max_kl = 0;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed, "wanted a mean of at most 0 nats",
                         [&] { run_convert(options); }));
  testing::internal::GetCapturedStdout();
  EXPECT_TRUE(fs::is_empty(home.path()));
}

TEST(Convert, KeepsItWithForce) {
  const SourceModel source;
  const TemporaryFolder home;
  ConvertOptions options = convert_options(source.path(), home.path() / "out", 4);
  options.min_agreement = 1;
  options.max_kl = 0;
  options.is_forced = true;
  output_of(0, [&] { return run_convert(options); });
  EXPECT_TRUE(fs::exists(home.path() / "out/model.safetensors"));
}

TEST(Convert, RefusesAFolderInUseBeforeTheWork) {
  const SourceModel source;
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "wanted an empty folder or none",
                         [&] { run_convert(convert_options(source.path(), source.path(), 8)); }));
}

// Onto a disk that takes nothing: whatever is found after the writing is not found.
TEST(Convert, FindsOutBeforeTheWorkThatTheSourceCannotRun) {
  const SourceModel source;
  const TemporaryFolder home;
  ConvertOptions options = convert_options(source.path(), home.path() / "out", 8);
  options.model.kernels = "mmx";
  const test::FileSizeLimit limit(0);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "kernels: found \"mmx\"",
                         [&] { run_convert(options); }));
  EXPECT_TRUE(fs::is_empty(home.path()));
}

TEST(Convert, SaysThatTheDiskIsFullAndLeavesNothing) {
  const SourceModel source;
  const TemporaryFolder home;
  const test::FileSizeLimit limit(100'000);
  EXPECT_TRUE(
      fails_with(ErrorCode::kOutputFailed, "cannot be written to its end: File too large",
                 [&] { run_convert(convert_options(source.path(), home.path() / "out", 8)); }));
  EXPECT_TRUE(fs::is_empty(home.path()));
}

TEST(Convert, KeepsTheWorkWhereItsReportCannotBePrinted) {
  const SourceModel source;
  const TemporaryFolder home;
  {
    const test::FullStandardOutput full;
    EXPECT_EQ(run_convert(convert_options(source.path(), home.path() / "out", 8)), 0);
  }
  EXPECT_TRUE(fs::exists(home.path() / "out/config.json"));
}

TEST(Convert, JudgesByTheStandardInputWhereAsked) {
  const SourceModel source;
  const TemporaryFolder home;
  const test::StandardInput input(home.write("text", "def add(a, b):\n    return a + b\n"));
  ConvertOptions options = convert_options(source.path(), home.path() / "out", 8);
  options.eval_file = "-";
  const std::string text = output_of(0, [&] { return run_convert(options); });
  EXPECT_NE(text.find("\n11 tokens: KL"), std::string::npos) << text;
}

TEST(Convert, RefusesAQuantisedSource) {
  const TemporaryFolder home;
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupportedModel, "not quantised", [&] {
    run_convert(convert_options(kModelFolder, home.path() / "out", 8));
  }));
  EXPECT_TRUE(fs::is_empty(home.path()));
}

EvalOptions eval_options(const TemporaryFolder& home) {
  home.write("text", "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n");
  return {.model = {.model = kModelFolder.string(), .n_threads = 1},
          .file = (home.path() / "text").string(),
          .is_json = true};
}

nlohmann::json eval_json(const EvalOptions& options) {
  return nlohmann::json::parse(output_of(0, [&] { return run_eval(options); }));
}

TEST(Eval, GivesPerplexityAndBitsPerByteOfOneSum) {
  const TemporaryFolder home;
  const nlohmann::json e = eval_json(eval_options(home));
  EXPECT_EQ(e["scored_tokens"].get<int>() + 1, e["text_tokens"].get<int>());
  EXPECT_NEAR(std::log(e["perplexity"].get<double>()), e["nats_per_token"], 1e-9);
  EXPECT_NEAR(e["bits_per_byte"].get<double>() * e["scored_bytes"].get<double>() * std::log(2.0),
              e["nats_per_token"].get<double>() * e["scored_tokens"].get<double>(), 1e-6);
  EXPECT_LT(e["perplexity"], 30);  // it was trained on such code
}

TEST(Eval, FindsOtherThreadsTheSameAndOtherKernelsClose) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  options.against_threads = {2};
  options.against_kernels = {"baseline"};
  // Where roundings to 16 bits could not fall to the other side.
  options.model.kv_type = "f32";
  if (cpu_features().amx_bf16) options.model.kernels = "avx512";
  const nlohmann::json e = eval_json(options);
  ASSERT_EQ(e["against"].size(), 2u);
  EXPECT_EQ(e["against"][0]["reference"], "kernels baseline");
  EXPECT_LT(e["against"][0]["kl_max_nats"], 1e-6);
  EXPECT_EQ(e["against"][0]["top1_agreement"], 1);
  EXPECT_EQ(e["against"][1]["kl_max_nats"], 0);
}

// Inputs of products in eight bits of mantissa leave 2^-9 / sqrt(3) of every activation, at random.
TEST(Eval, FindsTheMatrixUnitClose) {
  if (!cpu_features().amx_bf16) GTEST_SKIP() << "this machine has no matrix unit";
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  options.against_kernels = {"avx512"};
  const nlohmann::json e = eval_json(options);
  EXPECT_GT(e["against"][0]["kl_max_nats"], 0);
  EXPECT_LT(e["against"][0]["kl_mean_nats"], 1e-3);
}

// Eight bits of mantissa leave a relative error of 2^-9 in a score and in a value.
TEST(Eval, FindsACacheOfSixteenBitsClose) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  options.against_kv_types = {"f32"};
  const nlohmann::json e = eval_json(options);
  ASSERT_EQ(e["against"].size(), 1u);
  EXPECT_EQ(e["against"][0]["reference"], "cache f32");
  EXPECT_GT(e["against"][0]["kl_max_nats"], 0);
  EXPECT_LT(e["against"][0]["kl_mean_nats"], 1e-3);
}

TEST(Eval, ComparesTwoModelsOfOneVocabulary) {
  const TemporaryFolder home;
  const SourceModel other;
  EvalOptions options = eval_options(home);
  options.against = other.path().string();
  const nlohmann::json e = eval_json(options);
  EXPECT_GT(e["against"][0]["kl_mean_nats"], 1);
  EXPECT_GT(e["against"][0]["perplexity"], 1000);
}

TEST(Eval, ComparesModelsWhoseTokenizerBeginsEveryText) {
  const TemporaryFolder home;
  const SourceModel model;
  const fs::path file = model.path() / "tokenizer.json";
  nlohmann::json tokenizer = parse_json(read_text_file(file), "test");
  tokenizer["post_processor"] = nlohmann::json::parse(R"({"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [8176], "tokens": ["<|endoftext|>"]}}})");
  std::ofstream(file) << tokenizer.dump();
  EvalOptions options = eval_options(home);
  options.model.model = options.against = model.path().string();
  EXPECT_EQ(eval_json(options)["against"][0]["kl_max_nats"], 0);
}

TEST(Eval, ReadsTheStandardInput) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  const nlohmann::json named = eval_json(options);
  const test::StandardInput input(options.file);
  options.file = "-";
  const nlohmann::json piped = eval_json(options);
  EXPECT_EQ(piped["file"], "-");
  EXPECT_EQ(piped["nats_per_token"], named["nats_per_token"]);
}

TEST(Eval, RefusesWhatIsNoFileAsAWrongArgument) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  options.file = home.path().string();
  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument, "not a regular file", [&] { run_eval(options); }));
}

TEST(Eval, PrintsTheNameOfAFileThatIsNoUtf8) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  fs::rename(options.file, options.file + "\xff");
  options.file += "\xff";
  EXPECT_TRUE(eval_json(options)["file"].get<std::string>().ends_with("text\uFFFD"));
}

TEST(Eval, NamesAModelThatIsTooShortForTheWindow) {
  const TemporaryFolder home;
  const SourceModel other;
  nlohmann::json config = nlohmann::json::parse(read_text_file(other.path() / "config.json"));
  config["text_config"]["max_position_embeddings"] = 100;
  std::ofstream(other.path() / "config.json") << config;
  EvalOptions options = eval_options(home);
  options.against = other.path().string();
  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument,
                 "--window: found 2048, wanted at most 100, the context of " + options.against,
                 [&] { run_eval(options); }));
}

TEST(Eval, RefusesAModelOfAnotherVocabulary) {
  const TemporaryFolder home;
  const RandomModelFolder other({});
  EvalOptions options = eval_options(home);
  options.against = other.path().string();
  EXPECT_TRUE(
      fails_with(ErrorCode::kInvalidArgument, "found 128 tokens", [&] { run_eval(options); }));
}

TEST(Eval, RefusesATokenizerThatCutsOtherwise) {
  const TemporaryFolder home;
  const SourceModel other;
  nlohmann::json tokenizer = nlohmann::json::parse(read_text_file(kModelFolder / "tokenizer.json"));
  tokenizer["model"]["merges"] = nlohmann::json::array();
  std::ofstream(other.path() / "tokenizer.json") << tokenizer;
  EvalOptions options = eval_options(home);
  options.against = other.path().string();
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "other tokens", [&] { run_eval(options); }));
}

TEST(Eval, SaysTheSameInWords) {
  const TemporaryFolder home;
  EvalOptions options = eval_options(home);
  options.is_json = false;
  options.against_threads = {2};
  const std::string text = output_of(0, [&] { return run_eval(options); });
  for (const char* words :
       {"perplexity ", "bits per byte", "against 2 threads", "agreement 100.00 %"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
}

}  // namespace
}  // namespace slip
