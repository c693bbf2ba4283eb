#include "backend/cpu/state_body.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace slip::cpu {
namespace {

// Write or read the parts of a body in order: the format is stated once, in visit_body().
class Writer {
 public:
  static constexpr bool kFills = false;
  explicit Writer(std::byte* bytes) : bytes_(bytes) {}
  template <class T>
  void visit(T* values, size_t n) {
    if (n == 0) return;  // an empty buffer has no address
    std::memcpy(bytes_, values, n * sizeof(T));
    bytes_ += n * sizeof(T);
  }

 private:
  std::byte* bytes_;
};

class Reader {
 public:
  static constexpr bool kFills = true;  // what it visits
  explicit Reader(const std::byte* bytes) : bytes_(bytes) {}
  template <class T>
  void visit(T* values, size_t n) {
    if (n == 0) return;
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
void visit_body(Visitor visitor, SequenceState& state, const StateLayout& layout, int32_t n_tokens,
                bool keeps_draft_history) {
  for (int32_t layer = 0; layer < layout.kv.n_layers; ++layer) {
    const int32_t n = layout.cached_tokens(layer, n_tokens, keeps_draft_history);
    if (element_bytes(layout.kv.format.type) == sizeof(float)) {
      visit_cache<float>(visitor, state, layout.kv, layer, n);
    } else {
      visit_cache<uint16_t>(visitor, state, layout.kv, layer, n);
    }
  }
  visitor.visit(state.recurrent.data(), state.recurrent.size());
  visitor.visit(state.conv.data(), state.conv.size());
}

}  // namespace

size_t state_body_bytes(const StateLayout& layout, int32_t n_tokens, bool keeps_draft_history) {
  const size_t n_floats = static_cast<size_t>(layout.n_recurrent_layers) *
                          (layout.recurrent_floats() + layout.conv_floats());
  size_t n_cached = 0;
  for (int32_t layer = 0; layer < layout.kv.n_layers; ++layer) {
    const int32_t n = layout.cached_tokens(layer, n_tokens, keeps_draft_history);
    n_cached += 2 * static_cast<size_t>(n) * static_cast<size_t>(layout.kv.n_kv_heads) *
                static_cast<size_t>(layout.kv.head_dim);
  }
  return n_floats * sizeof(float) + n_cached * element_bytes(layout.kv.format.type);
}

void write_state_body(SequenceState& state, const StateLayout& layout, int32_t n_tokens,
                      bool keeps_draft_history, std::span<std::byte> bytes) {
  visit_body(Writer(bytes.data()), state, layout, n_tokens, keeps_draft_history);
}

void read_state_body(SequenceState& state, const StateLayout& layout, int32_t n_tokens,
                     bool keeps_draft_history, std::span<const std::byte> bytes) {
  visit_body(Reader(bytes.data()), state, layout, n_tokens, keeps_draft_history);
}

}  // namespace slip::cpu
