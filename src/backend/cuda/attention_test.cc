// Attention against ReferenceOps, and its two laws: a row's bits do not depend on its company, and
// nothing above a row's position reaches it.
#include "backend/cuda/kernels/attention/attention.h"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/ops_fixture.h"
#include "backend/cuda/kernel_fixture.h"
#include "backend/split_rule.h"

namespace slip::cuda {
namespace {

// As for the kernels of the CPU: a score is a chain of roundings at the size of a score; with 16
// bits, a key just between two roundings may fall to the other one.
struct CacheTolerance {
  DType type;
  double output;
};
constexpr CacheTolerance kCacheTolerances[] = {
    {DType::kF32, 1e-5}, {DType::kF16, 5e-4}, {DType::kBF16, 4e-3}};

struct HeadShape {
  int32_t n_kv_heads, group, head_dim;
  bool has_gate_and_norms = true;
};
constexpr HeadShape kHeadShapes[] = {{1, 1, 64},        {2, 4, 128}, {1, 6, 256},
                                     {1, 3, 32, false}, {2, 2, 96},  {1, 8, 48}};

constexpr int32_t kCacheLayer = 1, kCacheLayers = 2;
constexpr int32_t kSplitsOfTest = cpu::kPlan.n_splits, kSplitBorder = 64 * kSplitsOfTest;
constexpr int32_t kTokensMax = 2 * kSplitBorder, kBatchRowsMax = cpu::kPlan.batch_rows_max;

ModelConfig config_of(const HeadShape& shape) {
  return cpu::attention_model({.n_heads = shape.n_kv_heads * shape.group,
                               .n_kv_heads = shape.n_kv_heads,
                               .head_dim = shape.head_dim,
                               .rope = default_rope(shape.head_dim / 4, 1e7),
                               .has_output_gate = shape.has_gate_and_norms},
                              kCacheLayers);
}

struct CachedRows {
  int32_t sequence = 0, position = 0, n_rows = 0;
};

enum class Rows : uint8_t { kAttend, kAppendOnly };  // the second is cheap

// What the projection gives: a function of sequence and position. Rows that are spoiled are NaN.
std::vector<float> projections(size_t width, const std::vector<CachedRows>& segments,
                               int32_t spoiled_from = 1 << 20) {
  std::vector<float> rows;
  for (const CachedRows& s : segments) {
    for (int32_t position = s.position; position < s.position + s.n_rows; ++position) {
      std::vector<float> row(width, kNan);
      if (position < spoiled_from)
        cpu::fill_random(row, static_cast<uint64_t>(777 + 10000 * s.sequence + position));
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  return rows;
}

class AttentionDefinition {
 public:
  AttentionDefinition(const HeadShape& shape, DType type)
      : world_(config_of(shape), 2, kTokensMax,
               {type, cpu::token_major(shape.head_dim), cpu::token_major(shape.head_dim)}),
        ops_(cpu::make_reference(world_)) {
    args_ = {.kv_layer = kCacheLayer};
    if (!shape.has_gate_and_norms) return;
    args_.q_norm = ops_->add_vector(cpu::random_floats(at(shape.head_dim), 1));
    args_.k_norm = ops_->add_vector(cpu::random_floats(at(shape.head_dim), 2));
  }

  std::vector<float> run(const std::vector<CachedRows>& segments, Rows what = Rows::kAttend) {
    args_.append_only = what == Rows::kAppendOnly;
    std::ranges::copy(projections(ops_->stride(Act::kProjected), segments),
                      ops_->act(Act::kProjected));
    std::vector<PassSegment> pass_segments;
    for (const CachedRows& s : segments) {
      pass_segments.push_back({.state = StateId{s.sequence},
                               .position = s.position,
                               .n_rows = s.n_rows,
                               .n_certain = s.n_rows});
    }
    const cpu::PassOf pass(pass_segments);
    ops_->attention(pass, args_);
    const std::span<float> mixed = cpu::rows_of(*ops_, Act::kMixed, 0, pass.n_rows);
    return {mixed.begin(), mixed.end()};
  }

  const cpu::OpsStorage& ops() const { return *ops_; }
  const AttentionArgs& args() const { return args_; }

 private:
  cpu::World world_;
  std::unique_ptr<cpu::OpsStorage> ops_;
  AttentionArgs args_;
};

class AttentionTest : public KernelTest {
 protected:
  // The kernels, with two sequences whose caches begin as NaN.
  struct Heads {
    AttentionParams params;
    std::vector<DeviceMemory<float>> vectors;
    std::vector<DeviceMemory<std::byte>> caches;
    float magnitude = 1;
  };

  Heads make_heads(const AttentionDefinition& definition, DType type) {
    const ModelConfig& config = definition.ops().config();
    const AttentionConfig& a = config.attention;
    Heads heads;
    const auto add = [&](std::span<const float> values) {
      heads.vectors.push_back(upload(std::vector<float>(values.begin(), values.end())));
      return heads.vectors.back().data();
    };
    const AttentionArgs& args = definition.args();
    const CacheLayout cache{kCacheLayers, a.n_kv_heads, a.head_dim, type};
    heads.magnitude = a.rope.magnitude;
    add(a.rope.frequencies);
    heads.params = {
        .cache = cache,
        .kv_layer = kCacheLayer,
        .n_heads = a.n_heads,
        .query_stride = a.query_stride(),
        .eps = config.rms_norm_eps,
        .q_norm = add(definition.ops().vector(args.q_norm)),
        .k_norm = add(definition.ops().vector(args.k_norm)),
        .n_pairs = static_cast<int32_t>(a.rope.frequencies.size()),
        .projected_stride = static_cast<int64_t>(definition.ops().stride(Act::kProjected)),
        .n_splits = kSplitsOfTest,
        .mixed_stride = static_cast<int64_t>(definition.ops().stride(Act::kMixed))};
    for (int i = 0; i < 2; ++i)
      heads.caches.push_back(poisoned<std::byte>(kTokensMax / 64 * cache.block_bytes()));
    return heads;
  }

  // Mixed rows of the pass. Grids are larger than the step; partial sums are made slab by slab.
  std::vector<float> run(const Heads& heads, const std::vector<CachedRows>& segments,
                         Rows what = Rows::kAttend, int32_t spoiled_from = 1 << 20) {
    std::vector<SegmentData> segment_data;
    std::vector<RowData> rows;
    for (const CachedRows& s : segments) {
      const auto index = static_cast<int32_t>(segment_data.size());
      segment_data.push_back({.first_row = static_cast<int32_t>(rows.size()),
                              .n_rows = s.n_rows,
                              .position = s.position,
                              .cache = heads.caches[at(s.sequence)].data()});
      for (int32_t i = 0; i < s.n_rows; ++i) {
        const int32_t position = s.position + i;
        rows.push_back({index, position, split_tokens(position, kSplitsOfTest)});
      }
    }
    const auto n_rows = static_cast<int32_t>(rows.size());
    const auto counts = upload(std::vector<StepCounts>{
        {.n_rows = n_rows, .n_segments = static_cast<int32_t>(segments.size())}});
    const auto device_segments = upload(segment_data);
    const auto device_rows = upload(rows);
    AttentionParams p = heads.params;
    const auto projected = upload(projections(at(p.projected_stride), segments, spoiled_from));
    constexpr int32_t kSlab = 7;
    const int64_t n_parts = int64_t{p.n_splits} * kSlab * p.n_heads;
    const auto turns = poisoned<float>(int64_t{n_rows} * 2 * p.n_pairs);
    const auto queries = poisoned<float>(int64_t{n_rows} * p.n_heads * p.cache.head_dim);
    const auto sums = poisoned<float>(n_parts * p.cache.head_dim);
    const auto maxima = poisoned<float>(n_parts), weights = poisoned<float>(n_parts);
    const auto mixed = poisoned<float>(n_rows * p.mixed_stride);
    p.step = {
        .counts = counts.data(), .rows = device_rows.data(), .segments = device_segments.data()};
    p.turns = turns.data();
    p.projected = projected.data();
    p.queries = queries.data();
    p.sums = sums.data();
    p.maxima = maxima.data();
    p.weights = weights.data();
    p.mixed = mixed.data();
    p.slab_rows = kSlab;
    turn_rows(stream(),
              {.step = p.step,
               .frequencies = heads.vectors[0].data(),
               .n_pairs = p.n_pairs,
               .magnitude = heads.magnitude,
               .turns = turns.data()},
              n_rows + 2);
    append(stream(), p, n_rows + 2);
    if (what == Rows::kAppendOnly) return {};
    for (p.first_row = 0; p.first_row < n_rows; p.first_row += kSlab) {
      attend_plain(stream(), p);
      merge_splits(stream(), p);
    }
    return download(mixed);
  }

  // Tokens [0, end) of a sequence.
  void read(const Heads& heads, int32_t sequence, int32_t end) {
    for (int32_t begin = 0; begin < end; begin += kBatchRowsMax)
      run(heads, {{sequence, begin, std::min(kBatchRowsMax, end - begin)}}, Rows::kAppendOnly);
  }
};

TEST(CacheLayout, EveryElementOfABlockHasAPlaceOfItsOwn) {
  for (const DType type : {DType::kF32, DType::kF16}) {
    for (const int32_t head_dim : {48, 64, 96, 256}) {
      const CacheLayout layout{2, 2, head_dim, type};
      std::set<int64_t> places;
      for (int32_t plane = 0; plane < 8; ++plane) {
        const int32_t layer = plane / 4, head = plane / 2 % 2;
        const int64_t first =
            plane % 2 == 0 ? layout.keys(layer, head) : layout.values(layer, head);
        for (int32_t token = 0; token < 64; ++token)
          for (int32_t dim = 0; dim < head_dim; ++dim)
            places.insert(first + layout.offset(token, dim));
      }
      EXPECT_EQ(places.size(), at(8 * 64 * head_dim));
      EXPECT_LE(*places.rbegin() + layout.bytes_of_element(), layout.block_bytes());
      EXPECT_EQ(*places.begin(), 0);
    }
  }
}

TEST(CacheLayout, ChunksOfEightTokensLieInDifferentBanks) {
  const CacheLayout layout{1, 1, 64, DType::kBF16};
  for (int32_t dim = 0; dim < 64; dim += 8) {
    std::set<int32_t> banks;
    for (int32_t token = 0; token < 8; ++token) banks.insert(layout.offset(token, dim) % 128 / 16);
    EXPECT_EQ(banks.size(), 8u) << "dim " << dim;
  }
}

TEST_F(AttentionTest, AgreesWithTheDefinitionAtBlockAndSplitBorders) {
  for (const HeadShape& shape : kHeadShapes) {
    for (const CacheTolerance& tolerance : kCacheTolerances) {
      AttentionDefinition definition(shape, tolerance.type);
      const Heads heads = make_heads(definition, tolerance.type);
      struct AttendedPass {
        std::vector<CachedRows> segments;
        Rows what = Rows::kAttend;
      };
      // Lengths 1, 63 to 66, 127 to 131 of one sequence, another one beside it.
      const std::vector<AttendedPass> kPasses = {
          {{{0, 0, 1}, {1, 0, 3}}},  {{{0, 1, 61}}, Rows::kAppendOnly},  {{{0, 62, 2}, {1, 3, 1}}},
          {{{0, 64, 2}, {1, 4, 1}}}, {{{0, 66, 60}}, Rows::kAppendOnly}, {{{0, 126, 2}}},
          {{{1, 5, 1}, {0, 128, 3}}}};
      for (size_t i = 0; i < kPasses.size(); ++i) {
        const std::vector<float> wanted = definition.run(kPasses[i].segments, kPasses[i].what);
        const std::vector<float> found = run(heads, kPasses[i].segments, kPasses[i].what);
        if (kPasses[i].what == Rows::kAppendOnly) continue;
        expect_close(found, wanted, tolerance.output,
                     "head_dim " + std::to_string(shape.head_dim) + ", " +
                         std::string(name(tolerance.type)) + ", pass " + std::to_string(i));
      }
    }
  }
}

TEST_F(AttentionTest, ARowHasTheSameBitsAloneAndInASegment) {
  constexpr int32_t kBegin = kSplitBorder + 3, kRows = 9;
  const AttentionDefinition definition(kHeadShapes[1], DType::kBF16);
  const Heads plain = make_heads(definition, DType::kBF16);
  read(plain, 0, kBegin);
  std::vector<float> wanted;
  for (int32_t i = 0; i < kRows; ++i) {
    const std::vector<float> row = run(plain, {{0, kBegin + i, 1}});
    wanted.insert(wanted.end(), row.begin(), row.end());
  }
  const auto width = at(plain.params.mixed_stride);
  for (int32_t n_rows = 2; n_rows <= kRows; n_rows += 7) {
    const Heads heads = make_heads(definition, DType::kBF16);
    read(heads, 0, kBegin);
    const std::vector<float> found = run(heads, {{1, 0, 2}, {0, kBegin, n_rows}});
    const auto n = at(n_rows) * width;
    EXPECT_TRUE(same_bits(std::span(found).subspan(2 * width, n), std::span(wanted).first(n)))
        << n_rows << " rows";
  }
}

// The cache above is NaN at first, and here rows of the segment itself are.
TEST_F(AttentionTest, RowsThatAreNotFiniteReachNoneBelowThem) {
  const AttentionDefinition definition(kHeadShapes[0], DType::kF16);
  const Heads clean = make_heads(definition, DType::kF16);
  const Heads spoiled = make_heads(definition, DType::kF16);
  const std::vector<float> wanted = run(clean, {{0, 0, 5}});
  const std::vector<float> found = run(spoiled, {{0, 0, 12}}, Rows::kAttend, /*spoiled_from=*/5);
  EXPECT_TRUE(same_bits(std::span(found).first(wanted.size()), wanted));
}

}  // namespace
}  // namespace slip::cuda
