#include <algorithm>
#include <iterator>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/expect_error.h"
#include "io/json_file.h"
#include "io/mapped_file.h"
#include "io/safetensors.h"
#include "io/testing/file_size_limit.h"
#include "io/testing/temporary_folder.h"

namespace slip {
namespace {

using test::fails_with;
using test::FileSizeLimit;
using test::TemporaryFolder;

std::vector<std::byte> counted_bytes(size_t n) {
  std::vector<std::byte> bytes(n);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>(i * 7 + 1);
  return bytes;
}

NamedTensor tensor_of(std::string name, DType dtype, std::vector<int64_t> shape,
                      const std::vector<std::byte>& bytes) {
  return {std::move(name), {dtype, std::move(shape), bytes.data(), bytes.size()}};
}

size_t n_files(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path()),
                                           std::filesystem::directory_iterator()));
}

TEST(WriteSafetensors, WritesWhatTheParserReads) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  const auto six = counted_bytes(6);
  const auto four = counted_bytes(4);
  const std::vector<std::byte> none;
  write_safetensors(path, std::vector{tensor_of("z \"quoted\" é", DType::kBF16, {3, 1}, six),
                                      tensor_of("empty", DType::kF32, {0, 5}, none),
                                      tensor_of("a", DType::kF32, {}, four)});

  const MappedFile file(path);
  const TensorMap tensors = parse_safetensors(file.bytes(), path.string());
  ASSERT_EQ(tensors.size(), 3u);
  const TensorView& z = tensors.at("z \"quoted\" é");
  EXPECT_EQ(z.dtype, DType::kBF16);
  EXPECT_EQ(z.shape, (std::vector<int64_t>{3, 1}));
  EXPECT_TRUE(std::equal(six.begin(), six.end(), z.data, z.data + z.n_bytes));
  EXPECT_EQ(tensors.at("empty").shape, (std::vector<int64_t>{0, 5}));
  const TensorView& a = tensors.at("a");
  EXPECT_TRUE(a.shape.empty());
  EXPECT_TRUE(std::equal(four.begin(), four.end(), a.data, a.data + a.n_bytes));
}

TEST(WriteSafetensors, AlignsTheDataWhateverTheHeaderHolds) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  const auto bytes = counted_bytes(8);
  for (size_t n = 1; n <= 9; ++n) {
    write_safetensors(path, std::vector{tensor_of(std::string(n, 'x'), DType::kF64, {1}, bytes)});
    const MappedFile file(path);
    const TensorMap tensors = parse_safetensors(file.bytes(), path.string());
    EXPECT_EQ((tensors.begin()->second.data - file.bytes().data()) % 8, 0) << n;
  }
}

TEST(WriteSafetensors, KeepsTheOrderGiven) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  const auto bytes = counted_bytes(2);
  write_safetensors(path, std::vector{tensor_of("z", DType::kU8, {2}, bytes),
                                      tensor_of("a", DType::kU8, {2}, bytes)});
  const MappedFile file(path);
  const TensorMap tensors = parse_safetensors(file.bytes(), path.string());
  EXPECT_EQ(tensors.at("a").data, tensors.at("z").data + 2);
}

TEST(WriteSafetensors, WritesAFileWithoutTensors) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t.safetensors";
  write_safetensors(path, {});
  EXPECT_TRUE(parse_safetensors(MappedFile(path).bytes(), "t").empty());
}

TEST(WriteSafetensors, LeavesNothingButTheFile) {
  const TemporaryFolder folder;
  write_safetensors(folder.write("t", "older"), {});
  EXPECT_EQ(n_files(folder), 1u);
}

TEST(WriteSafetensors, RefusesNamesThatTheParserWould) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "t";
  const auto bytes = counted_bytes(1);
  const auto write = [&](const std::string& name) {
    write_safetensors(path, std::vector{tensor_of("a", DType::kU8, {1}, bytes),
                                        tensor_of(name, DType::kU8, {1}, bytes)});
  };
  for (const char* taken : {"a", "__metadata__"}) {
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, std::string(taken) + "\" is taken",
                           [&] { write(taken); }));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "not UTF-8", [&] { write("\xFF"); }));
  EXPECT_EQ(n_files(folder), 0u);
}

TEST(WriteSafetensors, NamesAPathThatCannotBeCreated) {
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument,
                         "/no/such/folder/t: its folder does not exist",
                         [] { write_safetensors("/no/such/folder/t", {}); }));
}

TEST(WriteSafetensors, LeavesAlonePlacesThatAreNoRegularFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() / "t");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, "not a regular file",
                         [&] { write_safetensors(folder.path() / "t", {}); }));
  EXPECT_EQ(n_files(folder), 1u);
}

TEST(WriteSafetensors, WritesThroughASymbolicLink) {
  const TemporaryFolder folder;
  folder.write("target", "old");
  std::filesystem::create_symlink("target", folder.path() / "link");
  write_safetensors(folder.path() / "link", {});
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link"));
  EXPECT_NE(std::filesystem::file_size(folder.path() / "target"), 3u);
}

TEST(ResolveOutput, TakesAPlainNameForTheCurrentFolder) {
  EXPECT_EQ(resolve_output("no-such-file"), std::filesystem::current_path() / "no-such-file");
}

TEST(WriteSafetensors, KeepsTheOlderFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto path = folder.write("t", "older");
  const auto bytes = counted_bytes(100'000);
  {
    const FileSizeLimit limit(50'000);
    EXPECT_TRUE(
        fails_with(ErrorCode::kOutputFailed, "cannot be written to its end: File too large", [&] {
          write_safetensors(path, std::vector{tensor_of("a", DType::kU8, {100'000}, bytes)});
        }));
  }
  EXPECT_EQ(read_text_file(path), "older");
  EXPECT_EQ(n_files(folder), 1u);
}

TEST(SafetensorsWriter, TakesBytesInPiecesThatKnowNothingOfTensors) {
  const TemporaryFolder folder;
  const auto bytes = counted_bytes(10);
  const std::vector<TensorSpec> specs = {{"b", DType::kBF16, {3}}, {"a", DType::kU8, {2, 2}}};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const auto path = folder.path() / std::to_string(piece);
    SafetensorsWriter writer(path, specs);
    for (size_t i = 0; i < bytes.size(); i += piece)
      writer.write(std::span(bytes).subspan(i, std::min(piece, bytes.size() - i)));
    writer.commit();
    const MappedFile file(path);
    const TensorMap tensors = parse_safetensors(file.bytes(), "t");
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 6, tensors.at("b").data)) << piece;
    EXPECT_TRUE(std::equal(bytes.begin() + 6, bytes.end(), tensors.at("a").data)) << piece;
  }
}

TEST(SafetensorsWriter, LeavesNothingWithoutACommit) {
  const TemporaryFolder folder;
  {
    const std::vector<TensorSpec> specs = {{"a", DType::kU8, {2}}};
    SafetensorsWriter writer(folder.path() / "t", specs);
    writer.write(counted_bytes(2));
  }
  EXPECT_EQ(n_files(folder), 0u);
}

TEST(SafetensorsWriter, SaysAtOnceThatTheDiskIsFull) {
  const TemporaryFolder folder;
  const FileSizeLimit limit(50'000);
  const std::vector<TensorSpec> specs = {{"a", DType::kU8, {1'000'000}}};
  SafetensorsWriter writer(folder.path() / "t", specs);
  EXPECT_TRUE(fails_with(ErrorCode::kOutputFailed, "cannot be written to its end: File too large",
                         [&] { writer.write(counted_bytes(900'000)); }));
}

}  // namespace
}  // namespace slip
