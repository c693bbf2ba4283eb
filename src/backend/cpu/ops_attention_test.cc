// Attention of every kernel table against ReferenceOps, ReferenceOps against closed forms, and the
// two laws: a row's bits do not depend on its company, and nothing above a row's position reaches
// it.
#include "backend/cpu/ops_fixture.h"

namespace slip::cpu {
namespace {

// A score is one chain of up to 256 roundings at the size of a score, about 2: 16 * 2^-24 * 2 =
// 2e-6, which the exponential turns into a relative error of a weight. Five sigma, since a case
// compares up to 10^5 elements.
constexpr double kAttentionTolerance = 1e-5;
// A norm, a rotation: a few ulp.
constexpr double kKeyTolerance = 1e-6;

struct AttentionShape {
  int32_t n_kv_heads, group, head_dim;
  bool has_gate_and_norms = true;
};
constexpr AttentionShape kAttentionShapes[] = {{1, 1, 32},  {2, 4, 256},       {4, 6, 64},
                                               {2, 2, 128}, {1, 3, 32, false}, {2, 4, 64, false}};

constexpr int32_t kSplitStride = kCacheBlockTokens * kPlan.n_splits;
constexpr int32_t kTokensMax = 3 * kSplitStride;
constexpr int32_t kKvLayer = 1;

ModelConfig config_of(const AttentionShape& shape) {
  ModelConfig config;
  config.hidden_size = config.intermediate_size = config.vocab_size = 8;
  config.rms_norm_eps = 1e-6f;
  config.attention = {.n_heads = shape.n_kv_heads * shape.group,
                      .n_kv_heads = shape.n_kv_heads,
                      .head_dim = shape.head_dim,
                      .rope = default_rope(shape.head_dim / 4, 1e7),
                      .has_output_gate = shape.has_gate_and_norms};
  config.layers.resize(2);
  return config;
}

std::string describe(const AttentionShape& s, const KernelTable& table) {
  return std::to_string(s.n_kv_heads) + " kv heads, group " + std::to_string(s.group) +
         ", head dim " + std::to_string(s.head_dim) + ", " + std::string(table.name);
}

// One implementation with its own sequences, whose first `n_cached` tokens are in the cache.
struct Attention {
  Attention(const AttentionShape& shape, const KernelTable* table, ThreadPool* pool,
            int32_t n_cached)
      : world(config_of(shape), 2, kTokensMax) {
    ops = table == nullptr ? make_reference(world) : make_ops(world, *table, *pool);
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
    const KvLayout& kv = world.layout.kv;
    float* block = world.states[static_cast<size_t>(sequence)]
                       .blocks[static_cast<size_t>(position / kCacheBlockTokens)];
    const int32_t t = position % kCacheBlockTokens;
    for (int32_t head = 0; head < kv.n_kv_heads; ++head) {
      const auto values = random_floats(2 * static_cast<size_t>(kv.head_dim),
                                        static_cast<uint64_t>(100 * seed + head));
      for (int32_t d = 0; d < kv.head_dim; ++d) {
        block[kv.key_offset(kKvLayer, head) + static_cast<size_t>(d * kCacheBlockTokens + t)] =
            values[static_cast<size_t>(d)];
        block[kv.value_offset(kKvLayer, head) + static_cast<size_t>(t * kv.head_dim + d)] =
            values[static_cast<size_t>(kv.head_dim + d)];
      }
    }
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
    for (const int32_t position : {border - 2, border - 1, border, border + 1}) {
      for (const int32_t n_rows : {1, 3, 9, 64}) {
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
      Attention definition(shape, nullptr, nullptr, c.position);
      const std::span<float> wanted = definition.run({segment});
      for (const KernelTable* table : usable_tables()) {
        Attention attention(shape, table, &pool, c.position);
        expect_close(attention.run({segment}), wanted, kAttentionTolerance,
                     describe(shape, *table) + ", position " + std::to_string(c.position) +
                         ", rows " + std::to_string(c.n_rows));
        for (size_t block = 0; block < attention.world.blocks.size(); ++block) {
          expect_close(attention.world.blocks[block].span(), definition.world.blocks[block].span(),
                       kKeyTolerance, describe(shape, *table) + ", cache block");
        }
      }
    }
  }
}

TEST(Attention, GivesARowTheSameBitsInAnySegmentOnAnyNumberOfThreads) {
  for (const AttentionShape& shape : kAttentionShapes) {
    for (const KernelTable* table : usable_tables()) {
      ThreadPool one(1);
      for (const int32_t begin : {0, 57, 128, 250}) {
        const int32_t n = std::min(33, rows_until_split_change(begin, kPlan.n_splits));
        Attention alone(shape, table, &one, begin);
        std::vector<std::vector<float>> wanted;
        for (int32_t i = 0; i < n; ++i) {
          const std::span<float> y =
              alone.run({{.position = begin + i, .n_rows = 1, .n_certain = 1}});
          wanted.emplace_back(y.begin(), y.end());
        }
        for (const int n_threads : {1, 2, 3}) {
          ThreadPool pool(n_threads);
          for (const int32_t width : {2, 3, 7, n}) {
            Attention together(shape, table, &pool, begin);
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
                    << describe(shape, *table) << ": position " << begin + i + r << ", width "
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
  for (const KernelTable* table : usable_tables()) {
    Attention clean(shape, table, &pool, 40);
    for (int32_t i = 0; i < kRows; ++i) clean.set_row(i, 0, 40 + i);
    const std::span<float> wanted = clean.run_prepared(pass);
    for (int32_t spoiled_from = 1; spoiled_from < kRows; ++spoiled_from) {
      Attention spoiled(shape, table, &pool, 40);
      for (int32_t i = 0; i < kRows; ++i) spoiled.set_row(i, 0, 40 + i);
      std::ranges::fill(rows_of(*spoiled.ops, Act::kProjected, spoiled_from, kRows - spoiled_from),
                        kNan);
      const std::span<float> found = spoiled.run_prepared(pass);
      const size_t n = static_cast<size_t>(spoiled_from) * clean.ops->stride(Act::kMixed);
      EXPECT_TRUE(same_bits(found.first(n), wanted.first(n)))
          << table->name << ", from " << spoiled_from;
    }
  }
}

TEST(Attention, IgnoresPartialSumsOfEarlierPasses) {
  ThreadPool pool(1);
  const AttentionShape shape = {2, 2, 32};
  const PassOf spoiling({{.state = StateId{1}, .position = 64, .n_rows = 64, .n_certain = 64}});
  const std::vector<PassSegment> segments = {{.position = 60, .n_rows = 8, .n_certain = 8}};
  for (const KernelTable* table : usable_tables()) {
    Attention fresh(shape, table, &pool, 64);
    const std::span<float> wanted = fresh.run(segments);
    Attention used(shape, table, &pool, 64);
    std::ranges::fill(rows_of(*used.ops, Act::kProjected, 0, 64), kNan);
    used.run_prepared(spoiling);  // every split of every row now holds NaN
    EXPECT_TRUE(same_bits(used.run(segments), wanted)) << table->name;
  }
}

TEST(Attention, AppendOnlyWritesTheCacheAndNothingElse) {
  ThreadPool pool(2);
  const AttentionShape shape = {2, 4, 32};
  for (const KernelTable* table : usable_tables()) {
    const std::vector<PassSegment> segments = {{.position = 60, .n_rows = 9, .n_certain = 9}};
    Attention whole(shape, table, &pool, 60);
    Attention part(shape, table, &pool, 60);
    part.args.append_only = true;
    whole.run(segments);
    for (const float y : part.run(segments)) EXPECT_TRUE(std::isnan(y));
    for (size_t block = 0; block < whole.world.blocks.size(); ++block) {
      EXPECT_TRUE(same_bits(part.world.blocks[block].span(), whole.world.blocks[block].span()))
          << table->name;
    }
  }
}

TEST(ReferenceAttention, AveragesValuesWhereScoresAreEqual) {
  const AttentionShape shape = {1, 2, 32};
  Attention attention(shape, nullptr, nullptr, 70);
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
    Attention attention(shape, nullptr, nullptr, position);
    const std::span<float> projected = rows_of(*attention.ops, Act::kProjected, 0, 1);
    std::ranges::fill(projected, 1.0f);  // its norm is 1, so a key is the norm's weight, rotated
    attention.run_prepared(PassOf({{.position = position, .n_rows = 1, .n_certain = 1}}));
    const std::vector<float> weight = random_floats(32, 2);
    const auto key = [&](size_t d) {
      const float* block =
          attention.world.states[0].blocks[0] + attention.world.layout.kv.key_offset(kKvLayer, 0);
      return static_cast<double>(block[d * kCacheBlockTokens + static_cast<size_t>(position)]);
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
