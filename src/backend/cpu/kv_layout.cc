#include "backend/cpu/kv_layout.h"

#include "tensor/quant.h"

namespace slip::cpu {
namespace {

std::byte* block_of(const KvHead& kv, int32_t token) { return kv.blocks[token / kTokensPerBlock]; }
std::byte* keys_of(const KvHead& kv, int32_t token) {
  return block_of(kv, token) + kv.layout.key_offset(kv.layer, kv.head);
}
std::byte* values_of(const KvHead& kv, int32_t token) {
  return block_of(kv, token) + kv.layout.value_offset(kv.layer, kv.head);
}

void read_row(DType type, const KvPlane& plane, const std::byte* bytes, int32_t token,
              std::span<float> row) {
  plane.for_dims(token, static_cast<int32_t>(row.size()), [&](int32_t dim, size_t at) {
    row[static_cast<size_t>(dim)] = load_float(type, bytes, at);
  });
}

}  // namespace

void KvHead::read_key(int32_t token, std::span<float> row) const {
  const KvFormat& format = layout.format;
  read_row(format.type, format.keys, keys_of(*this, token), token % kTokensPerBlock, row);
}

void KvHead::read_value(int32_t token, std::span<float> row) const {
  const KvFormat& format = layout.format;
  read_row(format.type, format.values, values_of(*this, token), token % kTokensPerBlock, row);
}

float KvHead::key(int32_t token, int32_t dim) const {
  const KvFormat& format = layout.format;
  return load_float(format.type, keys_of(*this, token),
                    format.keys.index(token % kTokensPerBlock, dim));
}

float KvHead::value(int32_t token, int32_t dim) const {
  const KvFormat& format = layout.format;
  return load_float(format.type, values_of(*this, token),
                    format.values.index(token % kTokensPerBlock, dim));
}

void KvHead::set_key(int32_t token, int32_t dim, float x) const {
  const KvFormat& format = layout.format;
  store_float(format.type, keys_of(*this, token), format.keys.index(token % kTokensPerBlock, dim),
              x);
}

void KvHead::set_value(int32_t token, int32_t dim, float x) const {
  const KvFormat& format = layout.format;
  store_float(format.type, values_of(*this, token),
              format.values.index(token % kTokensPerBlock, dim), x);
}

}  // namespace slip::cpu
