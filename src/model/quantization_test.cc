#include "model/quantization.h"

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

using nlohmann::json;

using test::message_of;

std::string message_of_config(const char* config) {
  return message_of([&] { require_known_quantization(json::parse(config)); });
}

std::string message_of_module(const char* config) {
  return message_of([&] { read_affine(json::parse(config), "a.b"); });
}

TEST(Quantization, AcceptsNoneMlxAndFp8) {
  EXPECT_EQ(message_of_config("{}"), "");
  EXPECT_EQ(message_of_config(R"({"quantization": {"bits": 4, "group_size": 64, "mode": "affine"},
                                  "quantization_config": {"bits": 4, "group_size": 64}})"),
            "");
  EXPECT_EQ(message_of_config(R"({"quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
                                  "weight_block_size": [128, 128]}})"),
            "");
}

TEST(Quantization, RefusesOtherMethodsByName) {
  EXPECT_EQ(message_of_config(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})"),
            "config.json.quantization_config.quant_method: found \"gptq\", wanted \"fp8\"");
  EXPECT_EQ(message_of_config(R"({"quantization": {"mode": "mxfp4"}})"),
            "config.json.quantization.mode: found \"mxfp4\", wanted \"affine\"");
  EXPECT_EQ(message_of_config(R"({"quantization_config": {"quant_method": "fp8", "fmt": "e5m2"}})"),
            "config.json.quantization_config.fmt: found \"e5m2\", wanted \"e4m3\"");
  EXPECT_EQ(message_of_config(R"({"quantization_config": {"quant_method": "fp8",
                                  "weight_block_size": [64, 128]}})"),
            "config.json.quantization_config.weight_block_size: found [64,128], wanted [128,128]");
}

TEST(ReadAffine, TakesTheModulesOwnEntryBeforeTheGlobalOne) {
  const json config = json::parse(R"({"quantization": {"bits": 4, "group_size": 64,
                                      "a.b": {"bits": 8, "group_size": 32}, "a.c": true, "a.d": {"bits": 6}}})");
  EXPECT_EQ(read_affine(config, "a.b").bits, 8);
  EXPECT_EQ(read_affine(config, "a.b").group_size, 32);
  EXPECT_EQ(read_affine(config, "a.c").bits, 4);
  EXPECT_EQ(read_affine(config, "a.d").bits, 6);
  EXPECT_EQ(read_affine(config, "a.d").group_size, 64);
}

TEST(ReadAffine, FallsBackToTheSecondKeyOfMlx) {
  const json config = json::parse(R"({"quantization_config": {"bits": 3, "group_size": 128}})");
  EXPECT_EQ(read_affine(config, "a").bits, 3);
}

TEST(ReadAffine, RefusesWhatCannotBe) {
  EXPECT_EQ(message_of_module("{}"),
            "a.b: has scales, but config.json has no \"quantization\" that says how they apply");
  EXPECT_EQ(message_of_module(R"({"quantization_config": {"quant_method": "fp8"}})"),
            "a.b: has scales, but config.json has no \"quantization\" that says how they apply");
  EXPECT_EQ(message_of_module(R"({"quantization": {"bits": 4, "group_size": 64, "a.b": false}})"),
            "a.b: has scales, but config.json says that it is not quantised");
  EXPECT_EQ(message_of_module(R"({"quantization": {"bits": 7, "group_size": 64}})"),
            "config.json.quantization.bits: found 7, wanted 2, 3, 4, 5, 6 or 8");
  EXPECT_EQ(message_of_module(R"({"quantization": {"bits": 4, "group_size": 48}})"),
            "config.json.quantization.group_size: found 48, wanted 32, 64 or 128");
  EXPECT_EQ(message_of_module(R"({"quantization": {"group_size": 64}})"),
            "config.json.quantization.bits: found nothing, wanted an integer in [1, 8]");
}

}  // namespace
}  // namespace slip
