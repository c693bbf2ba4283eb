// Hostile input: model folders damaged in one place each. Every one is refused in a sentence that
// names the thing, in bounded time and memory.
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"
#include "io/model_file.h"
#include "model/weights.h"

namespace slip {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr double kSecondsMax = 20;  // of one refusal; a second is long, a busy machine is slow
#if defined(SLIP_SANITIZED)
constexpr int64_t kBytesMax = int64_t{4} << 30;  // its shadow and quarantine are memory, too
#else
constexpr int64_t kBytesMax = int64_t{1} << 30;
#endif

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// A model folder that loads, until one of these.
class Folder {
 public:
  const fs::path& path() const { return model_.path(); }

  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path() / name, std::ios::binary) << bytes;
  }
  void rename(const std::string& from, const std::string& to) const {
    fs::rename(path() / from, path() / to);
  }

  // The configuration of the text model, changed.
  void config(const std::function<void(ordered_json& text)>& change) const {
    ordered_json json = ordered_json::parse(read(path() / "config.json"));
    change(json["text_config"]);
    write("config.json", json.dump());
  }

  // The bytes of the only shard.
  void shard(const std::function<void(std::string& bytes)>& change) const {
    std::string bytes = read(path() / kShard);
    change(bytes);
    write(kShard, bytes);
  }
  // Its header as text; the length before it follows.
  void header_text(const std::function<void(std::string& text)>& change) const {
    shard([&](std::string& bytes) {
      uint64_t n = 0;
      std::memcpy(&n, bytes.data(), sizeof n);
      std::string text = bytes.substr(8, n);
      change(text);
      const uint64_t size = text.size();
      std::string all(reinterpret_cast<const char*>(&size), sizeof size);
      bytes = all + text + bytes.substr(8 + n);
    });
  }
  void header(const std::function<void(ordered_json& header)>& change) const {
    header_text([&](std::string& text) {
      ordered_json json = ordered_json::parse(text);
      change(json);
      text = json.dump();
    });
  }
  // One entry of the header; the first tensor of the data if `name` is empty.
  void entry(const std::string& name,
             const std::function<void(ordered_json& entry)>& change) const {
    header([&](ordered_json& json) {
      std::string key = name;
      for (const auto& [tensor, fields] : json.items()) {
        if (key.empty() && fields.contains("data_offsets") && fields["data_offsets"][0] == 0)
          key = tensor;
      }
      ASSERT_TRUE(json.contains(key)) << key;
      change(json[key]);
    });
  }
  // Another name for a tensor.
  void rename_tensor(const std::string& from, const std::string& to) const {
    header([&](ordered_json& json) {
      ASSERT_TRUE(json.contains(from)) << from;
      json[to] = json[from];
      json.erase(from);
    });
  }

  static constexpr const char* kShard = "model.safetensors";

 private:
  RandomModelFolder model_{RandomModelOptions{}};
};

const std::string kLayer = "model.language_model.layers.0.";
const std::string kAttentionLayer = "model.language_model.layers.3.";

struct Broken {
  const char* name;
  std::function<void(const Folder&)> damage;
  const char* sentence;  // part of the message
};

ordered_json weight_map(const std::string& shard) { return {{"weight_map", {{"a", shard}}}}; }

void make_index(const Folder& f, const std::string& text) {
  f.rename(Folder::kShard, "model-00001-of-00001.safetensors");
  f.write("model.safetensors.index.json", text);
}

using Damage = std::function<void(const Folder&)>;
using Change = std::function<void(ordered_json&)>;

Damage entry(const Change& change) {
  return [change](const Folder& f) { f.entry("", change); };
}
Damage text(const Change& change) {
  return [change](const Folder& f) { f.config(change); };
}
Damage raw(const char* json) {
  return [json](const Folder& f) { f.write("config.json", json); };
}
Damage missing(const std::string& tensor) {
  return [tensor](const Folder& f) { f.rename_tensor(tensor, "somewhere.else"); };
}
Damage with_field(const std::string& tensor, const char* field, const ordered_json& value) {
  return [=](const Folder& f) { f.entry(tensor, [&](ordered_json& e) { e[field] = value; }); };
}

std::vector<Broken> broken_headers() {
  return {
      {"EmptyShard", [](const Folder& f) { f.write(Folder::kShard, ""); },
       "model.safetensors: 0 bytes, too short for a header length"},
      {"ShardOfSevenBytes", [](const Folder& f) { f.write(Folder::kShard, "1234567"); },
       "model.safetensors: 7 bytes, too short for a header length"},
      {"HeaderLongerThanNumbers",
       [](const Folder& f) { f.shard([](std::string& b) { b.replace(0, 8, 8, '\xFF'); }); },
       "model.safetensors: header of 18446744073709551615 bytes, wanted at most 580728"},
      {"HeaderLongerThanTheFile",
       [](const Folder& f) {
         f.shard([](std::string& b) {
           const uint64_t n = b.size() - 7;
           std::memcpy(b.data(), &n, sizeof n);
         });
       },
       "model.safetensors: header of 580729 bytes, wanted at most 580728"},
      {"HeaderOfNoBytes",
       [](const Folder& f) { f.shard([](std::string& b) { b.replace(0, 8, 8, '\0'); }); },
       "model.safetensors: not JSON at byte 1"},
      {"HeaderThatIsNoJson",
       [](const Folder& f) { f.header_text([](std::string& t) { t = "pickle"; }); },
       "model.safetensors: not JSON at byte 1"},
      {"HeaderCutInTheMiddle",
       [](const Folder& f) { f.header_text([](std::string& t) { t.resize(t.size() / 2); }); },
       "model.safetensors: not JSON at byte 4037"},
      {"HeaderThatIsAList",
       [](const Folder& f) { f.header_text([](std::string& t) { t = "[" + t + "]"; }); },
       "model.safetensors: the header is not an object"},
      {"HeaderNestedTenThousandDeep",
       [](const Folder& f) { f.header_text([](std::string& t) { t = std::string(10000, '['); }); },
       "model.safetensors: nested deeper than 64"},
      {"HeaderOfFiveMillionNumbers",
       [](const Folder& f) {
         f.header_text([](std::string& t) {
           t = "{\"a\":[0";
           for (int i = 0; i < 5'000'000; ++i) t += ",0";
           t += "]}";
         });
       },
       "model.safetensors: more than 4000000 values"},
      {"TensorGivenTwice",
       [](const Folder& f) {
         f.header_text([](std::string& t) {
           const std::string first = t.substr(1, t.find('}'));
           t.insert(1, first + ",");
         });
       },
       "model.safetensors: key \"lm_head.weight\" is given twice"},
      {"FieldGivenTwice",
       [](const Folder& f) {
         f.header_text([](std::string& t) { t.insert(t.find("\"dtype\""), "\"dtype\":\"F32\","); });
       },
       "model.safetensors: key \"dtype\" is given twice"},
      {"NameThatIsNoUtf8",
       [](const Folder& f) { f.header_text([](std::string& t) { t.insert(2, "\xC3\x28"); }); },
       "model.safetensors: not JSON at byte 4"},
      {"MetadataThatIsNoMap",
       [](const Folder& f) { f.header([](ordered_json& h) {
                               h["__metadata__"] = {{"a", 1}};
                             }); },
       "model.safetensors: __metadata__ is not an object of strings"},
  };
}

std::vector<Broken> broken_entries() {
  return {
      {"EntryThatIsANumber", entry([](ordered_json& e) { e = 7; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": not an object"},
      {"EntryWithoutType", entry([](ordered_json& e) { e.erase("dtype"); }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": no dtype"},
      {"TypeThatNobodyKnows", entry([](ordered_json& e) { e["dtype"] = "F7"; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": unknown dtype "
       "\"F7\""},
      {"TypeThatIsANumber", entry([](ordered_json& e) { e["dtype"] = 16; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": dtype is not a "
       "string"},
      {"EntryWithoutShape", entry([](ordered_json& e) { e.erase("shape"); }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": no shape"},
      {"NegativeShape", entry([](ordered_json& e) { e["shape"][0] = -1; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape is not an "
       "array of at most 16 unsigned integers"},
      {"FractionalShape", entry([](ordered_json& e) { e["shape"][0] = 1.5; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape is not an "
       "array of at most 16 unsigned integers"},
      {"ShapeOfTexts", entry([](ordered_json& e) { e["shape"][0] = "2"; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape is not an "
       "array of at most 16 unsigned integers"},
      {"ShapeOfSeventeenAxes", entry([](ordered_json& e) { e["shape"] = std::vector<int>(17, 1); }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape is not an "
       "array of at most 16 unsigned integers"},
      {"ShapeWhoseProductWraps", entry([](ordered_json& e) {
         e["shape"] = {uint64_t{1} << 32, uint64_t{1} << 32};
       }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape [4294967296, "
       "4294967296] is too large"},
      {"ShapeBeyondSignedNumbers", entry([](ordered_json& e) { e["shape"] = {uint64_t{1} << 63}; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape has size "
       "9223372036854775808"},
      {"ShapeThatHidesAWrapBehindAZero", entry([](ordered_json& e) {
         e["shape"] = {0, uint64_t{1} << 62, uint64_t{1} << 62};
       }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": shape [0, "
       "4611686018427387904, 4611686018427387904] is too large"},
      {"EntryWithoutOffsets", entry([](ordered_json& e) { e.erase("data_offsets"); }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": no data_offsets"},
      {"OffsetsInReverse", entry([](ordered_json& e) {
         e["data_offsets"] = {64, 0};
       }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": data_offsets are "
       "not a begin and an end"},
      {"OffsetsBeyondTheFile", entry([](ordered_json& e) {
         e["data_offsets"] = {0, uint64_t{1} << 40};
       }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": bytes 0 to "
       "1099511627776 of 572656, its shape needs 16384"},
      {"OneOffset", entry([](ordered_json& e) { e["data_offsets"] = {0}; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": data_offsets are "
       "not a begin and an end"},
      {"NegativeOffset", entry([](ordered_json& e) { e["data_offsets"][0] = -8; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": data_offsets is "
       "not an array of at most 2 unsigned integers"},
      {"ShapeThatNeedsMoreBytes", entry([](ordered_json& e) { e["shape"][0] = 1 << 19; }),
       "model.safetensors: tensor \"model.language_model.embed_tokens.weight\": bytes 0 to 16384 "
       "of 572656, its shape needs 67108864"},
  };
}

std::vector<Broken> broken_ranges() {
  return {
      {"OverlappingTensors",
       [](const Folder& f) { f.header([](ordered_json& h) { h["twin"] = h["mtp.norm.weight"]; }); },
       "model.safetensors: tensor \"twin\" begins at 572528, wanted 572656"},
      {"GapBetweenTensors",
       [](const Folder& f) { f.header([](ordered_json& h) { h.erase("mtp.norm.weight"); }); },
       "model.safetensors: 572656 bytes of data, the header describes 572528"},
      {"BytesBehindTheLastTensor",
       [](const Folder& f) { f.shard([](std::string& b) { b += "tail"; }); },
       "model.safetensors: 572660 bytes of data, the header describes 572656"},
      {"DataCutShort",
       [](const Folder& f) { f.shard([](std::string& b) { b.resize(b.size() - 1000); }); },
       "model.safetensors: tensor \"mtp.layers.0.mlp.down_proj.weight\": bytes 560240 to 572528 of "
       "571656, its shape needs 12288"},
  };
}

std::vector<Broken> broken_indices() {
  return {
      {"NoWeights", [](const Folder& f) { fs::remove(f.path() / Folder::kShard); },
       "model.safetensors.index.json: cannot be opened: No such file or directory"},
      {"WeightsThatAreAFolder",
       [](const Folder& f) {
         fs::remove(f.path() / Folder::kShard);
         fs::create_directory(f.path() / Folder::kShard);
       },
       "model.safetensors: not a regular file"},
      {"IndexThatIsNoJson", [](const Folder& f) { make_index(f, "{"); },
       "model.safetensors.index.json: not JSON at byte 2"},
      {"IndexWithoutMap", [](const Folder& f) { make_index(f, "{}"); },
       "model.safetensors.index.json: weight_map is not an object"},
      {"IndexThatNamesANumber",
       [](const Folder& f) { make_index(f, R"({"weight_map": {"a": 1}})"); },
       "model.safetensors.index.json: the shard of \"a\" is not a plain file name"},
      {"IndexThatLeavesTheFolder",
       [](const Folder& f) { make_index(f, weight_map("../secret.safetensors").dump()); },
       "model.safetensors.index.json: the shard of \"a\" is not a plain file name"},
      {"IndexThatNamesAnAbsolutePath",
       [](const Folder& f) { make_index(f, weight_map("/etc/passwd").dump()); },
       "model.safetensors.index.json: the shard of \"a\" is not a plain file name"},
      {"MissingShard",
       [](const Folder& f) {
         make_index(f, weight_map("model-00002-of-00002.safetensors").dump());
       },
       "model-00002-of-00002.safetensors: cannot be opened: No such file or directory"},
      {"TensorInNoShard",
       [](const Folder& f) {
         make_index(f, weight_map("model-00001-of-00001.safetensors").dump());
       },
       "model.safetensors.index.json: tensor \"a\" is in no shard"},
      {"TensorInTwoShards",
       [](const Folder& f) {
         fs::copy(f.path() / Folder::kShard, f.path() / "b.safetensors");
         f.rename(Folder::kShard, "a.safetensors");
         f.write(
             "model.safetensors.index.json",
             R"({"weight_map": {"mtp.norm.weight": "a.safetensors", "mtp.fc.weight": "b.safetensors"}})");
       },
       "b.safetensors: tensor \"lm_head.weight\" is in another shard too"},
  };
}

std::vector<Broken> broken_configurations() {
  return {
      {"NoConfiguration", [](const Folder& f) { fs::remove(f.path() / "config.json"); },
       "config.json: cannot be opened: No such file or directory"},
      {"EmptyConfiguration", raw(""), "config.json: not JSON at byte 1"},
      {"ConfigurationCutShort", raw(R"({"model_type": "qwen)"), "config.json: not JSON at byte 21"},
      {"ConfigurationThatIsAList", raw("[]"), "config.json: not a JSON object"},
      {"ConfigurationWithAKeyTwice", raw(R"({"model_type": "llama", "model_type": "qwen2"})"),
       "config.json: key \"model_type\" is given twice"},
      {"ConfigurationWithNan", raw(R"({"model_type": "llama", "rms_norm_eps": NaN})"),
       "config.json: not JSON at byte 41"},
      {"ConfigurationNestedDeep",
       [](const Folder& f) {
         f.write("config.json", "{\"a\":" + std::string(100, '[') + std::string(100, ']') + "}");
       },
       "config.json: nested deeper than 64"},
      {"NoModelType", raw("{}"), "config.json.model_type: found nothing"},
      {"ModelTypeOfNobody", raw(R"({"model_type": "gpt5"})"),
       "config.json.model_type: found \"gpt5\""},
      {"ModelTypeThatIsANumber", raw(R"({"model_type": 5})"),
       "config.json.model_type: found 5, wanted a string"},
      {"TextConfigurationThatIsAText",
       raw(R"({"model_type": "qwen3_5", "text_config": "see above"})"),
       "config.json.text_config: found \"see above\", wanted an object"},
  };
}

std::vector<Broken> broken_sizes() {
  return {
      {"NoHiddenSize", text([](ordered_json& t) { t.erase("hidden_size"); }),
       "config.json.text_config.hidden_size: found nothing, wanted an integer in [8, 1048576]"},
      {"HiddenSizeOfZero", text([](ordered_json& t) { t["hidden_size"] = 0; }),
       "config.json.text_config.hidden_size: found 0, wanted an integer in [8, 1048576]"},
      {"HiddenSizeOfATrillion", text([](ordered_json& t) { t["hidden_size"] = 1000000000000; }),
       "config.json.text_config.hidden_size: found 1000000000000, wanted an integer in [8, "
       "1048576]"},
      {"HiddenSizeBeyondSixtyFourBits", text([](ordered_json& t) { t["hidden_size"] = 1e30; }),
       "config.json.text_config.hidden_size: found 1e+30, wanted an integer in [8, 1048576]"},
      {"HiddenSizeInWords", text([](ordered_json& t) { t["hidden_size"] = "big"; }),
       "config.json.text_config.hidden_size: found \"big\", wanted an integer in [8, 1048576]"},
      {"HiddenSizeThatTheTensorsDeny", text([](ordered_json& t) { t["hidden_size"] = 128; }),
       "model.language_model.embed_tokens.weight: shape [128, 64], expected [128, 128]"},
      {"VocabularyThatTheTensorsDeny", text([](ordered_json& t) { t["vocab_size"] = 129; }),
       "model.language_model.embed_tokens.weight: shape [128, 64], expected [129, 64]"},
      {"BillionLayers", text([](ordered_json& t) { t["num_hidden_layers"] = 1000000000; }),
       "config.json.text_config.num_hidden_layers: found 1000000000, wanted an integer in [1, "
       "1024]"},
      {"LayersThatTheFileLacks", text([](ordered_json& t) {
         t["num_hidden_layers"] = 8;
         t.erase("layer_types");
       }),
       "tensor model.language_model.layers.4.input_layernorm.weight is missing"},
      {"LayerTypesOfAnotherLength", text([](ordered_json& t) { t["num_hidden_layers"] = 3; }),
       "config.json.text_config.layer_types: found "
       "[\"linear_attention\",\"linear_attention\",\"linear_attention\",\"f..., wanted one entry "
       "for each of 3 layers"},
      {"LayerTypeOfNobody",
       text([](ordered_json& t) { t["layer_types"][0] = "sliding_attention"; }),
       "config.json.text_config.layer_types: found "
       "[\"sliding_attention\",\"linear_attention\",\"linear_attention\",\"..., wanted "
       "\"full_attention\" and \"linear_attention\" only"},
      {"LayersThatTheTensorsDeny",
       text([](ordered_json& t) { t["layer_types"][0] = "full_attention"; }),
       "tensor model.language_model.layers.0.self_attn.q_proj.weight is missing"},
  };
}

std::vector<Broken> broken_features() {
  return {
      {"KeyHeadsThatDoNotDivide", text([](ordered_json& t) { t["num_key_value_heads"] = 3; }),
       "config.json.text_config.num_key_value_heads: found 3, wanted a divisor of "
       "num_attention_heads"},
      {"OddHead", text([](ordered_json& t) { t["head_dim"] = 33; }),
       "config.json.text_config.head_dim: found 33, wanted a multiple of 16"},
      {"ValueHeadsThatDoNotDivide", text([](ordered_json& t) { t["linear_num_value_heads"] = 3; }),
       "config.json.text_config.linear_num_value_heads: found 3, wanted a multiple of "
       "linear_num_key_heads"},
      {"ConvolutionOfOneTap", text([](ordered_json& t) { t["linear_conv_kernel_dim"] = 1; }),
       "config.json.text_config.linear_conv_kernel_dim: found 1, wanted an integer in [2, 16]"},
      {"ConvolutionThatTheTensorsDeny",
       text([](ordered_json& t) { t["linear_conv_kernel_dim"] = 5; }),
       "model.language_model.layers.0.linear_attn.conv1d.weight: shape [256, 1, 4], expected [256, "
       "5]"},
      {"IntermediateSizeThatTheTensorsDeny",
       text([](ordered_json& t) { t["intermediate_size"] = 128; }),
       "model.language_model.layers.0.mlp.gate_proj.weight: shape [96, 64], expected [128, 64]"},
      {"NegativeEpsilon", text([](ordered_json& t) { t["rms_norm_eps"] = -1; }),
       "config.json.text_config.rms_norm_eps: found -1, wanted a number in [0.000000, 1.000000]"},
      {"AnotherActivation", text([](ordered_json& t) { t["hidden_act"] = "gelu"; }),
       "config.json.text_config.hidden_act: found \"gelu\", wanted \"silu\""},
      {"RopeOfNobody",
       text([](ordered_json& t) { t["rope_parameters"]["rope_type"] = "longrope"; }),
       "config.json.text_config.rope_parameters.rope_type: found \"longrope\", wanted \"default\" "
       "or \"llama3\" or \"yarn\""},
      {"RopeWithoutTurn", text([](ordered_json& t) { t["rope_parameters"]["rope_theta"] = 0; }),
       "config.json.text_config.rope_parameters.rope_theta: found 0, wanted a number in [1.001000, "
       "1000000000000.000000]"},
      {"RopeOfNothing", text([](ordered_json& t) { t["rope_parameters"] = 1e6; }),
       "config.json.text_config.rope_parameters: found 1000000.0, wanted an object"},
      {"TwoDraftLayers", text([](ordered_json& t) { t["mtp_num_hidden_layers"] = 2; }),
       "config.json.text_config.mtp_num_hidden_layers: found 2, wanted 0 or 1"},
      {"ContextOfNothing", text([](ordered_json& t) { t["max_position_embeddings"] = 0; }),
       "config.json.text_config.max_position_embeddings: found 0, wanted an integer in [1, "
       "1073741823]"},
      {"QuantisedInAnotherWay",
       [](const Folder& f) {
         ordered_json json = ordered_json::parse(read(f.path() / "config.json"));
         json["quantization_config"] = {{"quant_method", "awq"}};
         f.write("config.json", json.dump());
       },
       "config.json.quantization_config.quant_method: found \"awq\", wanted \"fp8\""},
  };
}

std::vector<Broken> broken_tensors() {
  return {
      {"NoEmbedding", missing("model.language_model.embed_tokens.weight"),
       "no tensor is named any of model.language_model.embed_tokens.weight, "
       "language_model.model.embed_tokens.weight, model.embed_tokens.weight"},
      {"NoHead", missing("lm_head.weight"),
       "no tensor is named any of lm_head.weight, language_model.lm_head.weight"},
      {"NoQueries", missing(kAttentionLayer + "self_attn.q_proj.weight"),
       "tensor model.language_model.layers.3.self_attn.q_proj.weight is missing"},
      {"NoDecay", missing(kLayer + "linear_attn.A_log"),
       "tensor model.language_model.layers.0.linear_attn.A_log is missing"},
      {"DraftHeadWithoutFusion", missing("mtp.fc.weight"), "tensor mtp.fc.weight is missing"},
      {"MatrixOfIntegers", with_field(kLayer + "mlp.gate_proj.weight", "dtype", "I16"),
       "model.language_model.layers.0.mlp.gate_proj.weight: type I16, supported here is F32, F16 "
       "or BF16 (F8_E4M3 with a weight_scale_inv beside it)"},
      {"NormOfIntegers", with_field(kLayer + "input_layernorm.weight", "dtype", "U16"),
       "model.language_model.layers.0.input_layernorm.weight: type U16, supported here is F32, F16 "
       "or BF16"},
      {"MatrixTurned",
       with_field(kLayer + "mlp.gate_proj.weight", "shape", std::vector<int>{64, 96}),
       "model.language_model.layers.0.mlp.gate_proj.weight: shape [64, 96], expected [96, 64]"},
      {"MatrixFlattened",
       with_field(kLayer + "mlp.gate_proj.weight", "shape", std::vector<int>{96 * 64}),
       "model.language_model.layers.0.mlp.gate_proj.weight: shape [6144], expected [96, 64]"},
      {"ConvolutionOfAnotherShape",
       with_field(kLayer + "linear_attn.conv1d.weight", "shape", std::vector<int>{4, 64, 4}),
       "conv1d.weight: shape [4, 64, 4], expected [256, 4]"},
      {"NormThatIsNotFinite",
       [](const Folder& f) {
         uint64_t begin = 0;
         f.entry(kLayer + "input_layernorm.weight",
                 [&](ordered_json& e) { begin = e["data_offsets"][0]; });
         f.shard([&](std::string& b) {
           uint64_t n = 0;
           std::memcpy(&n, b.data(), sizeof n);
           b.replace(8 + n + begin + 6, 2, "\xC0\x7F");
         });
       },
       "model.language_model.layers.0.input_layernorm.weight: element 3 is nan, expected finite "
       "values"},
      {"ScalesThatNobodyExplains",
       [](const Folder& f) { f.rename_tensor("mtp.norm.weight", kLayer + "mlp.gate_proj.scales"); },
       "model.language_model.layers.0.mlp.gate_proj: has scales, but config.json has no "
       "\"quantization\" that says how they apply"},
      {"Fp8WithoutScales",
       [](const Folder& f) {
         f.entry(kLayer + "mlp.gate_proj.weight", [](ordered_json& e) {
           e["dtype"] = "F8_E4M3";
           e["shape"] = {96, 128};
         });
       },
       "model.language_model.layers.0.mlp.gate_proj.weight: type F8_E4M3, supported here is F32, "
       "F16 or BF16 (F8_E4M3 with a weight_scale_inv beside it)"},
  };
}

std::string message_of_load(const fs::path& folder) {
  return test::message_of([&] {
    const ModelFile file = ModelFile::open(folder);
    load_model(file);
  });
}

std::vector<Broken> all_broken() {
  std::vector<Broken> all;
  for (auto part : {broken_headers, broken_entries, broken_ranges, broken_indices,
                    broken_configurations, broken_sizes, broken_features, broken_tensors}) {
    for (Broken& broken : part()) all.push_back(std::move(broken));
  }
  return all;
}

class BrokenFiles : public testing::TestWithParam<Broken> {};

TEST_P(BrokenFiles, AreRefusedInASentence) {
  const Folder folder;
  GetParam().damage(folder);
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = message_of_load(folder.path());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_NE(message.find(GetParam().sentence), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  EXPECT_LT(message.size(), 600u) << message;
  EXPECT_LT(seconds.count(), kSecondsMax);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(int64_t{usage.ru_maxrss} * 1024, kBytesMax);
}

INSTANTIATE_TEST_SUITE_P(Models, BrokenFiles, testing::ValuesIn(all_broken()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BrokenFiles, StartFromAModelThatLoads) { EXPECT_EQ(message_of_load(Folder().path()), ""); }

}  // namespace
}  // namespace slip
