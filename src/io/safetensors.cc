#include "io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "io/json_file.h"

namespace slip {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little,
              "tensors are used as they lie in the file");

// Where a tensor lies, counted from the end of the header.
struct Range {
  uint64_t begin;
  uint64_t end;
  std::string_view name;
};

std::string_view find_header(std::span<const std::byte> bytes, const std::string& origin) {
  uint64_t n_header = 0;
  if (bytes.size() < sizeof(n_header)) {
    refuse_file(origin, std::to_string(bytes.size()) + " bytes, too short for a header length");
  }
  std::memcpy(&n_header, bytes.data(), sizeof(n_header));
  const uint64_t n_header_max =
      std::min<uint64_t>(bytes.size() - sizeof(n_header), kSafetensorsHeaderBytesMax);
  if (n_header > n_header_max) {
    refuse_file(origin, "header of " + std::to_string(n_header) + " bytes, wanted at most " +
                            std::to_string(n_header_max));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + sizeof(n_header), n_header};
}

void check_metadata(const json& metadata, const std::string& origin) {
  const bool is_string_map =
      metadata.is_object() &&
      std::ranges::all_of(metadata, [](const json& value) { return value.is_string(); });
  if (!is_string_map) refuse_file(origin, "__metadata__ is not an object of strings");
}

// One entry of the header, read field by field; every refusal names the tensor.
class EntryReader {
 public:
  EntryReader(const std::string& name, const json& entry, const std::string& origin)
      : entry_(entry), where_(origin + ": tensor " + quote(name)) {
    if (!entry.is_object()) refuse_file(where_, "not an object");
  }

  DType dtype() const {
    const json& field = find("dtype");
    if (!field.is_string()) refuse_file(where_, "dtype is not a string");
    const auto maybe_dtype = parse_dtype(field.get_ref<const std::string&>());
    if (!maybe_dtype) {
      refuse_file(where_, "unknown dtype " + quote(field.get_ref<const std::string&>()));
    }
    return *maybe_dtype;
  }

  std::vector<int64_t> shape() const {
    constexpr uint64_t kSizeMax = std::numeric_limits<int64_t>::max();
    std::vector<int64_t> sizes;
    for (const uint64_t size : unsigned_array("shape", kShapeRankMax)) {
      if (size > kSizeMax) refuse_file(where_, "shape has size " + std::to_string(size));
      sizes.push_back(static_cast<int64_t>(size));
    }
    return sizes;
  }

  Range range(std::string_view name) const {
    const auto offsets = unsigned_array("data_offsets", 2);
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      refuse_file(where_, "data_offsets are not a begin and an end");
    }
    return {offsets[0], offsets[1], name};
  }

  // Elements times their size, where that fits in 63 bits.
  uint64_t n_bytes(const std::vector<int64_t>& shape, DType dtype) const {
    auto product = static_cast<int64_t>(element_bytes(dtype));
    bool is_empty = false;
    for (const int64_t size : shape) {
      is_empty = is_empty || size == 0;
      if (__builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product)) {
        refuse_file(where_, "shape " + describe_shape(shape) + " is too large");
      }
    }
    return is_empty ? 0 : static_cast<uint64_t>(product);
  }

  const std::string& where() const { return where_; }

 private:
  const json& find(const char* key) const {
    const auto field = entry_.find(key);
    if (field == entry_.end()) refuse_file(where_, std::string("no ") + key);
    return *field;
  }

  std::vector<uint64_t> unsigned_array(const char* key, size_t n_max) const {
    const json& field = find(key);
    const bool is_valid =
        field.is_array() && field.size() <= n_max &&
        std::ranges::all_of(field, [](const json& value) { return value.is_number_unsigned(); });
    if (!is_valid) {
      refuse_file(where_, std::string(key) + " is not an array of at most " +
                              std::to_string(n_max) + " unsigned integers");
    }
    return field.get<std::vector<uint64_t>>();
  }

  const json& entry_;
  std::string where_;
};

// The ranges must tile the data: every byte belongs to exactly one tensor.
void check_ranges(std::vector<Range> ranges, uint64_t n_data, const std::string& origin) {
  std::ranges::sort(ranges, [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  uint64_t covered = 0;
  for (const Range& range : ranges) {
    if (range.begin != covered) {
      refuse_file(origin, "tensor " + quote(range.name) + " begins at " +
                              std::to_string(range.begin) + ", wanted " + std::to_string(covered));
    }
    covered = range.end;
  }
  if (covered != n_data) {
    refuse_file(origin, std::to_string(n_data) + " bytes of data, the header describes " +
                            std::to_string(covered));
  }
}

}  // namespace

TensorMap parse_safetensors(std::span<const std::byte> bytes, const std::string& origin) {
  const std::string_view header_text = find_header(bytes, origin);
  const auto data = bytes.subspan(sizeof(uint64_t) + header_text.size());
  const json header = parse_json(header_text, origin);
  if (!header.is_object()) refuse_file(origin, "the header is not an object");

  TensorMap tensors;
  std::vector<Range> ranges;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      check_metadata(entry, origin);
      continue;
    }
    const EntryReader reader(name, entry, origin);
    const auto added = tensors.try_emplace(name).first;
    const Range range = reader.range(added->first);
    TensorView& view = added->second;
    view.dtype = reader.dtype();
    view.shape = reader.shape();
    view.n_bytes = reader.n_bytes(view.shape, view.dtype);
    if (range.end > data.size() || range.end - range.begin != view.n_bytes) {
      refuse_file(reader.where(), "bytes " + std::to_string(range.begin) + " to " +
                                      std::to_string(range.end) + " of " +
                                      std::to_string(data.size()) + ", its shape needs " +
                                      std::to_string(view.n_bytes));
    }
    view.data = data.data() + range.begin;
    ranges.push_back(range);
  }
  check_ranges(std::move(ranges), data.size(), origin);
  return tensors;
}

}  // namespace slip
