#include "backend/cuda/testing/tile_probes.h"
#include "backend/cuda/tile/async_copy.h"
#include "backend/cuda/tile/launch.h"
#include "backend/cuda/tile/mma.h"

namespace slip::cuda {
namespace {

constexpr LaunchShape kOneWarp = {.blocks = {1}, .threads = 32, .shared_bytes = 1024};

__global__ void multiply_add_probe(MultiplyAddProbe p) {
  const int g = lane_index() / 4, t = lane_index() % 4;
  uint32_t a[4], b[2];
  float d[4];
  for (int i = 0; i < 4; ++i) {
    const uint16_t* from = p.a + (g + i % 2 * 8) * 16 + 2 * t + i / 2 * 8;
    a[i] = pair_of(from[0], from[1]);
    d[i] = p.d[(g + i / 2 * 8) * 8 + 2 * t + i % 2];
  }
  for (int i = 0; i < 2; ++i) {
    const int k = 2 * t + 8 * i;
    b[i] = pair_of(p.b[k * 8 + g], p.b[(k + 1) * 8 + g]);
  }
  if (p.is_f16) {
    multiply_add<Half::kF16>(d, a, b);
  } else {
    multiply_add<Half::kBF16>(d, a, b);
  }
  for (int i = 0; i < 4; ++i) p.d[(g + i / 2 * 8) * 8 + 2 * t + i % 2] = d[i];
}

__global__ void load_matrices_probe(LoadMatricesProbe p) {
  auto* rows = dynamic_shared<uint16_t>();
  for (int i = lane_index(); i < 256; i += kWarpLanes) rows[i] = p.matrices[i];
  __syncthreads();
  uint32_t r[4];
  if (p.is_transposed) {
    load_matrices<true>(r, rows + lane_index() * 8);
  } else {
    load_matrices<false>(r, rows + lane_index() * 8);
  }
  for (int i = 0; i < 4; ++i) {
    uint16_t* out = p.out + i * 64 + lane_index() * 2;
    out[0] = static_cast<uint16_t>(r[i]);
    out[1] = static_cast<uint16_t>(r[i] >> 16);
  }
}

__global__ void halves_probe(HalvesProbe p) {
  const int i = lane_index();
  if (i >= p.n) return;
  p.bf16[i] = to_bf16(p.x[i]);
  p.f16[i] = to_f16(p.x[i]);
}

__global__ void lanes_probe(LanesProbe p) {
  const auto i = threadIdx.x;
  p.sums[i] = sum_of_lanes(p.x[i], p.n_lanes);
  p.maxima[i] = max_of_lanes(p.x[i], p.n_lanes);
}

// The first group is read while the second may still be on its way.
__global__ void copies_probe(CopiesProbe p) {
  auto* rows = dynamic_shared<uint16_t>();
  const int at = lane_index() * 8;
  for (int group = 0; group < 2; ++group) {
    copy_async(rows + group * 256 + at, p.from + group * 256 + at);
    commit_copies();
  }
  const int neighbour = (at + 8) % 256;
  wait_for_copies<1>();
  __syncthreads();
  for (int i = 0; i < 8; ++i) p.out[neighbour + i] = rows[neighbour + i];
  wait_for_copies<0>();
  __syncthreads();
  for (int i = 0; i < 8; ++i) p.out[256 + neighbour + i] = rows[256 + neighbour + i];
}

}  // namespace

void probe_multiply_add(Stream& stream, const MultiplyAddProbe& probe) {
  launch(stream, multiply_add_probe, kOneWarp, probe);
}
void probe_load_matrices(Stream& stream, const LoadMatricesProbe& probe) {
  launch(stream, load_matrices_probe, kOneWarp, probe);
}
void probe_halves(Stream& stream, const HalvesProbe& probe) {
  launch(stream, halves_probe, kOneWarp, probe);
}
void probe_lanes(Stream& stream, const LanesProbe& probe) {
  launch(stream, lanes_probe, {.blocks = {1}, .threads = 64}, probe);
}
void probe_copies(Stream& stream, const CopiesProbe& probe) {
  launch(stream, copies_probe, kOneWarp, probe);
}

}  // namespace slip::cuda
