// Attention of every kernel table against ReferenceOps, ReferenceOps against closed forms, and the
// two laws: a row's bits do not depend on its company, and nothing above a row's position reaches
// it.
#include "backend/cpu/ops_fixture.h"

namespace slip::cpu {
namespace {

// How far from the definition, which has the same type of cache, a kernel may be.
struct Tolerance {
  DType type;
  // A score is one chain of up to 256 roundings at the size of a score, about 2: 16 * 2^-24 * 2 =
  // 2e-6, which the exponential turns into a relative error of a weight. Five sigma, since a case
  // compares up to 10^5 elements. With 16 bits, besides: a key just between two roundings may fall
  // to the other one, and its score moves by an ulp of a key, times a query, over sqrt(head_dim):
  // at most 2^-7 * 3 / sqrt(32) with 8 bits of mantissa, an eighth of that with 11.
  double output;
  // A norm, a rotation: a few ulp; with 16 bits one ulp of the stored element.
  double key;
};
constexpr Tolerance kTolerances[] = {
    {DType::kF32, 1e-5, 1e-6}, {DType::kF16, 5e-4, 0x1p-10}, {DType::kBF16, 4e-3, 0x1p-7}};

// Besides, where a kernel rounds queries and weights to 8 bits of mantissa: 2^-9 / sqrt(3) each,
// the first times a score of about 1 to 2. Together 2e-3 of a weight, random from token to token,
// and so of the output of a head; six sigma, times 1.8 for an element whose gate is open while the
// head's average is not. One token of 256 that is left out or seen too much is 6e-2.
constexpr double kRoundedOperands = 2.2e-2;

struct AttentionShape {
  int32_t n_kv_heads, group, head_dim;
  bool has_gate_and_norms = true;
};
constexpr AttentionShape kAttentionShapes[] = {{1, 1, 32},  {2, 4, 256},       {4, 6, 64},
                                               {2, 2, 128}, {1, 3, 32, false}, {2, 4, 64, false},
                                               {1, 5, 96},  {1, 2, 48}};

constexpr int32_t kSplitStride = kCacheBlockTokens * kPlan.n_splits;
constexpr int32_t kTokensMax = 3 * kSplitStride;
constexpr int32_t kKvLayer = 1;

ModelConfig attention_config(const AttentionShape& shape) {
  return attention_model({.n_heads = shape.n_kv_heads * shape.group,
                          .n_kv_heads = shape.n_kv_heads,
                          .head_dim = shape.head_dim,
                          .rope = default_rope(shape.head_dim / 4, 1e7),
                          .has_output_gate = shape.has_gate_and_norms},
                         2);
}

// A way to attend: a table and the type of its cache.
struct Kernel {
  const KernelTable* table;
  DType type;

  const AttentionKernel& of(const AttentionShape& shape) const {
    return table->attention_for(type, shape.head_dim);
  }
};
std::vector<Kernel> usable_kernels() {
  std::vector<Kernel> kernels;
  for (const KernelTable* table : usable_tables()) {
    for (const DType type : {DType::kF32, DType::kF16, DType::kBF16})
      kernels.push_back({table, type});
  }
  return kernels;
}

std::string describe(const AttentionShape& s, const Kernel& kernel) {
  return std::to_string(s.n_kv_heads) + " kv heads, group " + std::to_string(s.group) +
         ", head dim " + std::to_string(s.head_dim) + ", " + std::string(kernel.table->name) + "/" +
         std::string(kernel.of(s).name) + " on " + std::string(name(kernel.type));
}

// One implementation with its own sequences, whose first `n_cached` tokens are in the cache.
struct Attention {
  Attention(const AttentionShape& shape, const Kernel& kernel, ThreadPool& pool, int32_t n_cached)
      : Attention(shape, kernel.of(shape).format(shape.head_dim), n_cached,
                  [&](World& w) { return make_ops(w, *kernel.table, pool); }) {}
  // The definition.
  Attention(const AttentionShape& shape, DType type, int32_t n_cached)
      : Attention(shape, {type, token_major(shape.head_dim), token_major(shape.head_dim)}, n_cached,
                  make_reference) {}

  template <class MakeOps>
  Attention(const AttentionShape& shape, const KvFormat& format, int32_t n_cached,
            const MakeOps& make)
      : world(attention_config(shape), 2, kTokensMax, format), ops(make(world)) {
    const auto head_dim = static_cast<size_t>(shape.head_dim);
    args = {.kv_layer = kKvLayer};
    if (shape.has_gate_and_norms) {
      args.q_norm = ops->add_vector(random_floats(head_dim, 1));
      args.k_norm = ops->add_vector(random_floats(head_dim, 2));
    }
    for (int32_t s = 0; s < 2; ++s) {
      for (int32_t t = 0; t < n_cached; ++t) set_token(s, t, 10000 * s + t);
    }
  }

  // Key and value of one token: seed says which.
  void set_token(int32_t sequence, int32_t position, int32_t seed) {
    const int32_t head_dim = world.layout.kv.head_dim;
    for (int32_t head = 0; head < world.layout.kv.n_kv_heads; ++head) {
      const auto values = random_floats(2 * static_cast<size_t>(head_dim),
                                        static_cast<uint64_t>(100 * seed + head));
      const KvHead kv = cache(sequence, head);
      for (int32_t d = 0; d < head_dim; ++d) {
        kv.set_key(position, d, values[static_cast<size_t>(d)]);
        kv.set_value(position, d, values[static_cast<size_t>(head_dim + d)]);
      }
    }
  }

  KvHead cache(int32_t sequence, int32_t head) const {
    return {world.layout.kv, world.states[static_cast<size_t>(sequence)].blocks.data(), kKvLayer,
            head};
  }

  // Every element of the first sequence's cache, in one order for all kernels.
  std::vector<float> cached() const {
    std::vector<float> elements;
    std::vector<float> row(static_cast<size_t>(world.layout.kv.head_dim));
    for (int32_t head = 0; head < world.layout.kv.n_kv_heads; ++head) {
      const KvHead kv = cache(0, head);
      for (int32_t t = 0; t < kTokensMax; ++t) {
        kv.read_key(t, row);
        elements.insert(elements.end(), row.begin(), row.end());
        kv.read_value(t, row);
        elements.insert(elements.end(), row.begin(), row.end());
      }
    }
    return elements;
  }

  // What the projection gives the token at `position` of a sequence.
  void set_row(int32_t row, int32_t sequence, int32_t position) {
    fill_random(rows_of(*ops, Act::kProjected, row, 1),
                static_cast<uint64_t>(777 + 10000 * sequence + position));
  }

  std::span<float> run(const std::vector<PassSegment>& segments) {
    const PassOf pass(segments);
    int32_t row = 0;
    for (const PassSegment& s : segments) {
      for (int32_t i = 0; i < s.n_rows; ++i)
        set_row(row++, static_cast<int32_t>(s.state), s.position + i);
    }
    return run_prepared(pass);
  }
  std::span<float> run_prepared(const PassOf& pass) {
    const std::span<float> out = rows_of(*ops, Act::kMixed, 0, pass.n_rows);
    std::ranges::fill(out, kNan);
    ops->attention(pass, args);
    return out;
  }

  World world;
  std::unique_ptr<OpsStorage> ops;
  AttentionArgs args;
};

struct LengthCase {
  int32_t position, n_rows;
};

// Around every block and split border.
std::vector<LengthCase> length_cases() {
  std::vector<LengthCase> cases;
  for (int32_t border = 0; border <= 2 * kSplitStride; border += kCacheBlockTokens) {
    for (const int32_t position : {border - 2, border - 1, border}) {
      for (const int32_t n_rows : {1, 9, 64}) {
        if (position < 0 || n_rows > rows_until_split_change(position, kPlan.n_splits)) continue;
        cases.push_back({position, n_rows});
      }
    }
  }
  return cases;
}

TEST(Attention, AgreesWithTheDefinitionAroundEveryBorder) {
  ThreadPool pool(2);
  for (const AttentionShape& shape : kAttentionShapes) {
    for (const LengthCase& c : length_cases()) {
      if (shape.head_dim > 64 && c.n_rows > 9) continue;  // the definition takes its time
      const PassSegment segment{.position = c.position, .n_rows = c.n_rows, .n_certain = c.n_rows};
      for (const Tolerance& tolerance : kTolerances) {
        Attention definition(shape, tolerance.type, c.position);
        const std::span<float> wanted = definition.run({segment});
        const std::vector<float> wanted_cache = definition.cached();
        for (const KernelTable* table : usable_tables()) {
          const Kernel kernel{table, tolerance.type};
          Attention attention(shape, kernel, pool, c.position);
          const std::string what = describe(shape, kernel) + ", position " +
                                   std::to_string(c.position) + ", rows " +
                                   std::to_string(c.n_rows);
          const double rounded = kernel.of(shape).name == "amx" ? kRoundedOperands : 0;
          const std::span<float> found = attention.run({segment});
          // Head by head: one that looks at few tokens has larger outputs and larger errors.
          const auto head_dim = static_cast<size_t>(shape.head_dim);
          for (size_t at = 0; at < wanted.size(); at += head_dim) {
            expect_close(found.subspan(at, head_dim), wanted.subspan(at, head_dim),
                         tolerance.output + rounded, what + ", from " + std::to_string(at));
          }
          expect_close(attention.cached(), wanted_cache, tolerance.key, what + ", cache");
        }
      }
    }
  }
}

TEST(Attention, GivesARowTheSameBitsInAnySegmentOnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kAttentionShapes) {
    for (const Kernel& kernel : usable_kernels()) {
      ThreadPool one(1);
      for (const int32_t begin : {0, 57, 250}) {
        const int32_t n = std::min(33, rows_until_split_change(begin, kPlan.n_splits));
        Attention alone(shape, kernel, one, begin);
        std::vector<std::vector<float>> wanted;
        for (int32_t i = 0; i < n; ++i) {
          const std::span<float> y =
              alone.run({{.position = begin + i, .n_rows = 1, .n_certain = 1}});
          wanted.emplace_back(y.begin(), y.end());
        }
        for (const int n_threads : {1, 2, 3}) {
          ThreadPool pool(n_threads);
          for (const int32_t width : {2, 3, 7, n}) {
            Attention together(shape, kernel, pool, begin);
            const PassSegment neighbour{
                .state = StateId{1}, .position = begin, .n_rows = 5, .n_certain = 5};
            for (int32_t i = 0; i < n; i += width) {
              const int32_t n_rows = std::min(width, n - i);
              const PassSegment own{.position = begin + i, .n_rows = n_rows, .n_certain = 1};
              const std::span<float> y = together.run({neighbour, own});
              const size_t mixed = together.ops->stride(Act::kMixed);
              for (int32_t r = 0; r < n_rows; ++r) {
                ASSERT_TRUE(same_bits(y.subspan(static_cast<size_t>(5 + r) * mixed, mixed),
                                      wanted[static_cast<size_t>(i + r)]))
                    << describe(shape, kernel) << ": position " << begin + i + r << ", width "
                    << width << ", threads " << n_threads;
              }
            }
          }
        }
      }
    }
  }
}

TEST(Attention, IgnoresLaterRowsOfItsOwnSegment) {
  constexpr int32_t kRows = 7;
  ThreadPool pool(1);
  const AttentionShape shape = {2, 4, 64};
  const PassOf pass({{.position = 40, .n_rows = kRows, .n_certain = 1}});
  for (const Kernel& kernel : usable_kernels()) {
    Attention clean(shape, kernel, pool, 40);
    for (int32_t i = 0; i < kRows; ++i) clean.set_row(i, 0, 40 + i);
    const std::span<float> wanted = clean.run_prepared(pass);
    for (int32_t spoiled_from = 1; spoiled_from < kRows; ++spoiled_from) {
      Attention spoiled(shape, kernel, pool, 40);
      for (int32_t i = 0; i < kRows; ++i) spoiled.set_row(i, 0, 40 + i);
      std::ranges::fill(rows_of(*spoiled.ops, Act::kProjected, spoiled_from, kRows - spoiled_from),
                        kNan);
      const std::span<float> found = spoiled.run_prepared(pass);
      const size_t n = static_cast<size_t>(spoiled_from) * clean.ops->stride(Act::kMixed);
      EXPECT_TRUE(same_bits(found.first(n), wanted.first(n)))
          << describe(shape, kernel) << ", from " << spoiled_from;
    }
  }
}

TEST(Attention, IgnoresPartialSumsOfEarlierPasses) {
  ThreadPool pool(1);
  const AttentionShape shape = {2, 2, 32};
  const PassOf spoiling({{.state = StateId{1}, .position = 64, .n_rows = 64, .n_certain = 64}});
  const std::vector<PassSegment> segments = {{.position = 60, .n_rows = 8, .n_certain = 8}};
  for (const Kernel& kernel : usable_kernels()) {
    Attention fresh(shape, kernel, pool, 64);
    const std::span<float> wanted = fresh.run(segments);
    Attention used(shape, kernel, pool, 64);
    std::ranges::fill(rows_of(*used.ops, Act::kProjected, 0, 64), kNan);
    used.run_prepared(spoiling);  // every split of every row now holds NaN
    EXPECT_TRUE(same_bits(used.run(segments), wanted)) << describe(shape, kernel);
  }
}

TEST(Attention, AppendOnlyWritesTheCacheAndNothingElse) {
  ThreadPool pool(2);
  const AttentionShape shape = {2, 4, 32};
  for (const Kernel& kernel : usable_kernels()) {
    const std::vector<PassSegment> segments = {{.position = 60, .n_rows = 9, .n_certain = 9}};
    Attention whole(shape, kernel, pool, 60);
    Attention part(shape, kernel, pool, 60);
    part.args.append_only = true;
    whole.run(segments);
    for (const float y : part.run(segments)) EXPECT_TRUE(std::isnan(y));
    EXPECT_TRUE(same_bits(part.cached(), whole.cached())) << describe(shape, kernel);
  }
}

TEST(ReferenceAttention, AveragesValuesWhereScoresAreEqual) {
  const AttentionShape shape = {1, 2, 32};
  Attention attention(shape, DType::kF32, 70);
  const std::span<float> projected = rows_of(*attention.ops, Act::kProjected, 0, 1);
  std::ranges::fill(projected, 0.0f);  // a query of zeros, and a gate whose sigmoid is one half
  attention.run_prepared(PassOf({{.position = 70, .n_rows = 1, .n_certain = 1}}));
  for (int32_t d = 0; d < 32; ++d) {
    double sum = 0;  // the token's own value is zero
    for (int32_t t = 0; t < 70; ++t) {
      sum += static_cast<double>(
          random_floats(64, static_cast<uint64_t>(100 * t))[static_cast<size_t>(32 + d)]);
    }
    EXPECT_NEAR(attention.ops->act(Act::kMixed)[d], sum / 71 / 2, 1e-7);
    EXPECT_NEAR(attention.ops->act(Act::kMixed)[32 + d], sum / 71 / 2, 1e-7);
  }
}

TEST(ReferenceAttention, RotatesPairsByPositionTimesFrequency) {
  const AttentionShape shape = {1, 1, 32};  // 8 rotary dims: pairs (0, 4), (1, 5), ...
  for (const int32_t position : {0, 3}) {
    Attention attention(shape, DType::kF32, position);
    const std::span<float> projected = rows_of(*attention.ops, Act::kProjected, 0, 1);
    std::ranges::fill(projected, 1.0f);  // its norm is 1, so a key is the norm's weight, rotated
    attention.run_prepared(PassOf({{.position = position, .n_rows = 1, .n_certain = 1}}));
    const std::vector<float> weight = random_floats(32, 2);
    const auto key = [&](size_t d) {
      return static_cast<double>(attention.cache(0, 0).key(position, static_cast<int32_t>(d)));
    };
    for (size_t i = 0; i < 4; ++i) {
      const double angle = position * std::pow(1e7, -static_cast<double>(i) / 4);
      const auto first = static_cast<double>(weight[i]),
                 second = static_cast<double>(weight[i + 4]);
      EXPECT_NEAR(key(i), first * std::cos(angle) - second * std::sin(angle), 2e-6);
      EXPECT_NEAR(key(i + 4), second * std::cos(angle) + first * std::sin(angle), 2e-6);
    }
    for (size_t d = 8; d < 32; ++d) EXPECT_NEAR(key(d), weight[d], 2e-6);
  }
}

}  // namespace
}  // namespace slip::cpu
