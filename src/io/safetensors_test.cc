#include "io/safetensors.h"

#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"

namespace slip {
namespace {

using test::fails_with;

std::string little_endian(uint64_t n) {
  std::string bytes(sizeof(n), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(n & 0xFF);
    n >>= 8;
  }
  return bytes;
}

std::string file_of(std::string_view header, size_t n_data) {
  std::string file = little_endian(header.size());
  file += header;
  for (size_t i = 0; i < n_data; ++i) file += static_cast<char>(i);
  return file;
}

// In memory of exactly that size, so that the address sanitizer sees a read behind the end.
TensorMap parse(std::string_view file) {
  std::vector<std::byte> bytes(file.size());
  if (!file.empty()) std::memcpy(bytes.data(), file.data(), file.size());
  TensorMap tensors = parse_safetensors(bytes, "x.safetensors");
  for (auto& [name, tensor] : tensors) tensor.data = nullptr;  // `bytes` ends here
  return tensors;
}

testing::AssertionResult is_refused(std::string_view file, std::string_view words) {
  return fails_with(ErrorCode::kCorruptFile, words, [&] { parse(file); });
}

constexpr std::string_view kGoodHeader = R"({
  "__metadata__": {"format": "pt"},
  "b": {"dtype": "U8", "shape": [3], "data_offsets": [8, 11]},
  "a": {"dtype": "BF16", "shape": [2, 2], "data_offsets": [0, 8]},
  "none": {"dtype": "F32", "shape": [4, 0], "data_offsets": [8, 8]},
  "one": {"dtype": "I8", "shape": [], "data_offsets": [11, 12]}
})";
constexpr size_t kGoodData = 12;

TEST(ParseSafetensors, GivesTypeShapeAndPlaceOfEveryTensor) {
  const std::string file = file_of(kGoodHeader, kGoodData);
  const auto bytes = std::as_bytes(std::span(file));
  const TensorMap tensors = parse_safetensors(bytes, "x");
  const std::byte* const data = bytes.data() + 8 + kGoodHeader.size();
  ASSERT_EQ(tensors.size(), 4u);
  EXPECT_EQ(tensors.at("a").dtype, DType::kBF16);
  EXPECT_EQ(tensors.at("a").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(tensors.at("a").data, data);
  EXPECT_EQ(tensors.at("a").n_bytes, 8u);
  EXPECT_EQ(tensors.at("b").data, data + 8);
  EXPECT_EQ(tensors.at("b").n_bytes, 3u);
  EXPECT_EQ(tensors.at("one").data, data + 11);
}

TEST(ParseSafetensors, AcceptsEmptyTensorsAndScalars) {
  const TensorMap tensors = parse(file_of(kGoodHeader, kGoodData));
  EXPECT_EQ(tensors.at("none").n_bytes, 0u);
  EXPECT_EQ(tensors.at("none").shape, (std::vector<int64_t>{4, 0}));
  EXPECT_EQ(tensors.at("one").n_elements(), 1);
}

TEST(ParseSafetensors, AcceptsAFileWithoutTensors) {
  EXPECT_TRUE(parse(file_of("{}", 0)).empty());
  EXPECT_TRUE(parse(file_of(R"({"__metadata__": {}}   )", 0)).empty());
}

TEST(ParseSafetensors, RefusesAFileCutAtAnyLength) {
  const std::string file = file_of(kGoodHeader, kGoodData);
  for (size_t n = 0; n < file.size(); ++n) {
    ASSERT_TRUE(is_refused(std::string_view(file).substr(0, n), "x.safetensors: ")) << n;
  }
}

TEST(ParseSafetensors, RefusesAFileWithOneByteMore) {
  EXPECT_TRUE(
      is_refused(file_of(kGoodHeader, kGoodData + 1), "13 bytes of data, the header describes 12"));
}

TEST(ParseSafetensors, RefusesHeaderLengthsThatLeaveTheFile) {
  const std::string rest = "{}";
  EXPECT_TRUE(is_refused(little_endian(3) + rest, "header of 3 bytes, wanted at most 2"));
  for (const uint64_t n : {~uint64_t{0}, ~uint64_t{0} - 7, uint64_t{1} << 63}) {
    EXPECT_TRUE(is_refused(little_endian(n) + rest, "wanted at most 2")) << n;
  }
}

TEST(ParseSafetensors, RefusesAHeaderAbove100Megabytes) {
  std::string file = file_of("{}", 0);
  file.resize(100'000'009 + 8, ' ');
  file.replace(0, 8, little_endian(100'000'001));
  EXPECT_TRUE(is_refused(file, "header of 100000001 bytes, wanted at most 100000000"));
}

struct BadHeader {
  const char* header;
  size_t n_data;
  const char* words;
};

void expect_refused(std::span<const BadHeader> cases) {
  for (const BadHeader& bad : cases) {
    EXPECT_TRUE(is_refused(file_of(bad.header, bad.n_data), bad.words)) << bad.header;
  }
}

TEST(ParseSafetensors, RefusesHeadersThatAreNotTheExpectedObject) {
  constexpr BadHeader kCases[] = {
      {"", 0, "not JSON"},
      {"[]", 0, "the header is not an object"},
      {R"({"a": 1})", 0, "tensor \"a\": not an object"},
      {R"({"a": {}})", 0, "tensor \"a\": no data_offsets"},
      {R"({"a": {"shape": [1], "data_offsets": [0, 1]}})", 1, "no dtype"},
      {R"({"a": {"dtype": "U8", "data_offsets": [0, 1]}})", 1, "no shape"},
      {R"({"a": {"dtype": 8, "shape": [1], "data_offsets": [0, 1]}})", 1, "dtype is not a string"},
      {R"({"__metadata__": {"a": 1}})", 0, "__metadata__ is not"},
      {R"({"__metadata__": ["a"]})", 0, "__metadata__ is not"},
      {R"({"__metadata__": "a"})", 0, "__metadata__ is not"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesANameGivenTwice) {
  EXPECT_TRUE(is_refused(file_of(R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
                  "a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})",
                                 2),
                         "key \"a\" is given twice"));
}

TEST(ParseSafetensors, RefusesAnUnknownType) {
  EXPECT_TRUE(
      is_refused(file_of(R"({"a": {"dtype": "F7", "shape": [0], "data_offsets": [0, 0]}})", 0),
                 "tensor \"a\": unknown dtype \"F7\""));
}

TEST(ParseSafetensors, RefusesImpossibleShapes) {
  constexpr BadHeader kCases[] = {
      {R"({"a": {"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}})", 1, "shape is not"},
      {R"({"a": {"dtype": "U8", "shape": [1.0], "data_offsets": [0, 1]}})", 1, "shape is not"},
      {R"({"a": {"dtype": "U8", "shape": ["1"], "data_offsets": [0, 1]}})", 1, "shape is not"},
      {R"({"a": {"dtype": "U8", "shape": 1, "data_offsets": [0, 1]}})", 1, "shape is not"},
      {R"({"a": {"dtype": "U8", "shape": [1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1],
                 "data_offsets": [0, 1]}})",
       1, "at most 16"},
      {R"({"a": {"dtype": "U8", "shape": [9223372036854775808], "data_offsets": [0, 0]}})", 0,
       "shape has size 9223372036854775808"},
      {R"({"a": {"dtype": "U8", "shape": [18446744073709551616], "data_offsets": [0, 0]}})", 0,
       "shape is not"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesShapesWhoseProductWraps) {
  constexpr BadHeader kCases[] = {
      // 2^32 * 2^32 elements are 0 modulo 2^64.
      {R"({"a": {"dtype": "U8", "shape": [4294967296, 4294967296], "data_offsets": [0, 0]}})", 0,
       "is too large"},
      // 2^62 elements of four bytes are 0 too.
      {R"({"a": {"dtype": "F32", "shape": [4611686018427387904], "data_offsets": [0, 0]}})", 0,
       "is too large"},
      // Empty, but a product of the other two sizes would wrap.
      {R"({"a": {"dtype": "U8", "shape": [0, 4294967296, 4294967296], "data_offsets": [0, 0]}})", 0,
       "is too large"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesOffsetsThatDoNotFit) {
  constexpr BadHeader kCases[] = {
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 0]}})", 1, "not a begin and"},
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0]}})", 1, "not a begin and"},
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1, 1]}})", 1, "at most 2"},
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]}})", 1,
       "data_offsets is not"},
      {R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 1]}})", 1, "its shape needs 2"},
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 2]}})", 2, "its shape needs 1"},
      {R"({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 1]}})", 1, "its shape needs 4"},
      {R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})", 1, "bytes 0 to 2 of 1"},
      {R"({"a": {"dtype": "U8", "shape": [1],
                 "data_offsets": [18446744073709551614, 18446744073709551615]}})",
       1, "bytes 18446744073709551614"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesRangesThatOverlap) {
  constexpr BadHeader kCases[] = {
      {R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
           "b": {"dtype": "U8", "shape": [2], "data_offsets": [1, 3]}})",
       3, "tensor \"b\" begins at 1, wanted 2"},
      {R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
           "b": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]}})",
       2, "begins at 0, wanted 2"},
      {R"({"a": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
           "b": {"dtype": "U8", "shape": [0], "data_offsets": [1, 1]}})",
       2, "tensor \"b\" begins at 1, wanted 2"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesRangesThatLeaveGaps) {
  constexpr BadHeader kCases[] = {
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}})", 2,
       "tensor \"a\" begins at 1, wanted 0"},
      {R"({"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]},
           "b": {"dtype": "U8", "shape": [1], "data_offsets": [2, 3]}})",
       3, "tensor \"b\" begins at 2, wanted 1"},
      {"{}", 1, "1 bytes of data, the header describes 0"},
  };
  expect_refused(kCases);
}

TEST(ParseSafetensors, RefusesDeepNesting) {
  EXPECT_TRUE(is_refused(file_of(std::string(100'000, '['), 0), "nested deeper than 64"));
}

}  // namespace
}  // namespace slip
