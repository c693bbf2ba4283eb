#include "backend/cpu/state_io.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/hash.h"

namespace slip::cpu {

namespace {

constexpr uint64_t kMagic =
    0x3253504c49534350;  // "PCSILPS2" in memory order: CPU layout, version 2
constexpr size_t kSampledBytes =
    4096;  // of each tensor: enough to tell fine-tunes apart, cheap at any size

// Writes or reads the parts of a body in order: the format is stated once, in visit_body().
class Writer {
 public:
  static constexpr bool kFills = false;
  explicit Writer(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  template <class T>
  void visit(T* values, size_t n) {
    const auto* begin = reinterpret_cast<const std::byte*>(values);
    bytes_.insert(bytes_.end(), begin, begin + n * sizeof(T));
  }

 private:
  std::vector<std::byte>& bytes_;
};

class Reader {
 public:
  static constexpr bool kFills = true;  // what it visits
  explicit Reader(const std::byte* bytes) : bytes_(bytes) {}
  template <class T>
  void visit(T* values, size_t n) {
    if (n == 0) return;  // an empty vector has no address
    std::memcpy(values, bytes_, n * sizeof(T));
    bytes_ += n * sizeof(T);
  }

 private:
  const std::byte* bytes_;
};

// Token by token, in whatever order the plane has them.
template <class Element, class Visitor>
void visit_plane(Visitor& visitor, std::byte* bytes, const KvPlane& plane, int32_t n_tokens,
                 std::span<Element> row) {
  auto* elements = reinterpret_cast<Element*>(bytes);
  const auto head_dim = static_cast<int32_t>(row.size());
  for (int32_t t = 0; t < n_tokens; ++t) {
    if constexpr (Visitor::kFills) {
      visitor.visit(row.data(), row.size());
      plane.for_dims(t, head_dim,
                     [&](int32_t d, size_t at) { elements[at] = row[static_cast<size_t>(d)]; });
    } else {
      plane.for_dims(t, head_dim,
                     [&](int32_t d, size_t at) { row[static_cast<size_t>(d)] = elements[at]; });
      visitor.visit(row.data(), row.size());
    }
  }
}

template <class Element, class Visitor>
void visit_cache(Visitor& visitor, SequenceState& state, const KvLayout& kv, int32_t layer,
                 int32_t n_tokens) {
  std::vector<Element> row(static_cast<size_t>(kv.head_dim));
  for (int32_t head = 0; head < kv.n_kv_heads; ++head) {
    for (int32_t begin = 0; begin < n_tokens; begin += kCacheBlockTokens) {
      const int32_t n = std::min(kCacheBlockTokens, n_tokens - begin);
      std::byte* block = state.blocks[static_cast<size_t>(begin / kCacheBlockTokens)];
      visit_plane<Element>(visitor, block + kv.key_offset(layer, head), kv.format.keys, n, row);
      visit_plane<Element>(visitor, block + kv.value_offset(layer, head), kv.format.values, n, row);
    }
  }
}

template <class Visitor>
void visit_body(Visitor& visitor, SequenceState& state, std::span<float> last_hidden,
                const StateLayout& layout, const StateHeader& header) {
  const auto n_tokens = static_cast<size_t>(header.n_committed);
  visitor.visit(state.ids.data(), n_tokens);
  for (int32_t layer = 0; layer < layout.kv.n_layers; ++layer) {
    const int32_t n =
        layout.cached_tokens(layer, header.n_committed, header.keeps_draft_history != 0);
    if (element_bytes(layout.kv.format.type) == sizeof(float)) {
      visit_cache<float>(visitor, state, layout.kv, layer, n);
    } else {
      visit_cache<uint16_t>(visitor, state, layout.kv, layer, n);
    }
  }
  visitor.visit(state.recurrent.data(), state.recurrent.size());
  visitor.visit(state.conv.data(), state.conv.size());
  visitor.visit(last_hidden.data(), last_hidden.size());
}

size_t body_bytes(const StateLayout& layout, const StateHeader& header) {
  size_t n_floats = static_cast<size_t>(layout.n_recurrent_layers) *
                    (layout.recurrent_floats() + layout.conv_floats());
  size_t n_cached = 0;
  for (int32_t layer = 0; layer < layout.kv.n_layers; ++layer) {
    const int32_t n =
        layout.cached_tokens(layer, header.n_committed, header.keeps_draft_history != 0);
    n_cached += 2 * static_cast<size_t>(n) * static_cast<size_t>(layout.kv.n_kv_heads) *
                static_cast<size_t>(layout.kv.head_dim);
  }
  if (header.keeps_draft_history != 0 && header.n_committed > 0)
    n_floats += static_cast<size_t>(layout.hidden_size);
  return n_floats * sizeof(float) + n_cached * element_bytes(layout.kv.format.type) +
         static_cast<size_t>(header.n_committed) * sizeof(TokenId);
}

int32_t cache_type_of(const StateLayout& layout) {
  return static_cast<int32_t>(layout.kv.format.type);
}

std::string type_name(int32_t cache_type) {
  const auto type = static_cast<DType>(cache_type);
  const bool is_known = cache_type >= 0 && cache_type < UINT8_MAX && is_plain_float(type);
  return is_known ? std::string(name(type)) : "type " + std::to_string(cache_type);
}

[[noreturn]] void refuse(const std::string& what) { refuse_file("stored state", what); }

void require_equal(const char* what, uint64_t found, uint64_t wanted) {
  if (found == wanted) return;
  refuse(std::string(what) + " is " + std::to_string(found) + ", expected " +
         std::to_string(wanted));
}

}  // namespace

uint64_t model_fingerprint(const ModelFile& file, const ModelConfig& config) {
  uint64_t hash = hash_bytes(std::as_bytes(std::span(config.family)));
  const auto mix = [&](std::span<const std::byte> bytes) { hash = hash_bytes(bytes, hash); };
  for (const auto& [name, tensor] : file.tensors()) {
    mix(std::as_bytes(std::span(name)));
    mix(std::as_bytes(std::span(tensor.shape)));
    mix(std::as_bytes(std::span(&tensor.dtype, 1)));
    mix({tensor.data, std::min(tensor.n_bytes, kSampledBytes)});
  }
  return hash;
}

std::vector<std::byte> write_state(SequenceState& state, std::span<float> last_hidden,
                                   const StateLayout& layout, uint64_t fingerprint) {
  const auto ids =
      std::span<const TokenId>(state.ids).first(static_cast<size_t>(state.n_committed));
  StateHeader header{.magic = kMagic,
                     .fingerprint = fingerprint,
                     .token_hash = hash_tokens(ids),
                     .n_committed = state.n_committed,
                     .keeps_draft_history = state.options.keeps_draft_history ? 1 : 0,
                     .cache_type = cache_type_of(layout)};
  std::vector<std::byte> bytes(sizeof(header));
  bytes.reserve(sizeof(header) + body_bytes(layout, header));
  Writer writer(bytes);
  visit_body(writer, state, last_hidden, layout, header);
  header.body_hash = hash_bytes(std::span<const std::byte>(bytes).subspan(sizeof(header)));
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

StateHeader read_state_header(std::span<const std::byte> bytes, const StateLayout& layout,
                              const RunnerInfo& info, uint64_t fingerprint) {
  StateHeader header;
  if (bytes.size() < sizeof(header)) {
    refuse(std::to_string(bytes.size()) + " bytes, expected at least " +
           std::to_string(sizeof(header)));
  }
  std::memcpy(&header, bytes.data(), sizeof(header));
  require_equal("magic", header.magic, kMagic);
  require_equal("model fingerprint", header.fingerprint, fingerprint);
  const bool is_plausible = header.n_committed >= 0 &&
                            header.n_committed <= info.context_tokens_max &&
                            (header.keeps_draft_history == 0 || header.keeps_draft_history == 1) &&
                            header.n_form_borders == 0;
  if (!is_plausible) {
    refuse(std::to_string(header.n_committed) + " tokens with " +
           std::to_string(header.n_form_borders) + " form borders, expected at most " +
           std::to_string(info.context_tokens_max) + " tokens and no border");
  }
  if (header.cache_type != cache_type_of(layout)) {
    refuse("keys and values in " + type_name(header.cache_type) + ", expected " +
           type_name(cache_type_of(layout)));
  }
  require_equal("length in bytes", bytes.size(), sizeof(header) + body_bytes(layout, header));
  const std::span<const std::byte> body = bytes.subspan(sizeof(header));
  require_equal("content hash", hash_bytes(body), header.body_hash);
  std::vector<TokenId> ids(static_cast<size_t>(header.n_committed));
  Reader(body.data()).visit(ids.data(), ids.size());
  require_equal("token hash", hash_tokens(ids), header.token_hash);
  for (const TokenId id : ids) {
    if (index(id) >= static_cast<size_t>(info.vocab_size)) {
      refuse("token " + std::to_string(static_cast<int32_t>(id)) + ", expected one below " +
             std::to_string(info.vocab_size));
    }
  }
  return header;
}

void read_state_body(std::span<const std::byte> bytes, const StateHeader& header,
                     const StateLayout& layout, SequenceState& state,
                     std::span<float> last_hidden) {
  Reader reader(bytes.data() + sizeof(header));
  visit_body(reader, state, last_hidden, layout, header);
}

}  // namespace slip::cpu
