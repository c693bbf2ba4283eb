// The gated delta net of every kernel table against ReferenceOps, ReferenceOps against the closed
// form of one token, and the law that makes rejection free: folding a kept row gives the bits that
// stepping it would have given.
#include "backend/cpu/ops_fixture.h"

namespace slip::cpu {
namespace {

// Per row two sums over the keys and a handful of products, about 1e-6 of the state's size; errors
// of earlier rows decay with it. After 40 rows and a norm of the output, five sigma.
constexpr double kDeltaTolerance = 1e-5;

struct DeltaShape {
  int32_t n_key_heads, n_value_heads, key_dim, value_dim, conv_kernel;
};
constexpr DeltaShape kDeltaShapes[] = {
    {2, 4, 128, 128, 4}, {1, 1, 32, 32, 4}, {2, 6, 64, 96, 3}, {1, 3, 8, 64, 2}};

ModelConfig config_of(const DeltaShape& s) {
  return delta_net_model({.n_key_heads = s.n_key_heads,
                          .n_value_heads = s.n_value_heads,
                          .key_dim = s.key_dim,
                          .value_dim = s.value_dim,
                          .conv_kernel = s.conv_kernel},
                         2);
}

std::string describe(const DeltaShape& s, const KernelTable& table) {
  return std::to_string(s.n_key_heads) + "/" + std::to_string(s.n_value_heads) + " heads of " +
         std::to_string(s.key_dim) + " x " + std::to_string(s.value_dim) + ", " +
         std::string(table.name);
}

// One implementation with its own two sequences, at position kBegin.
constexpr int32_t kBegin = 5;
struct DeltaNet {
  DeltaNet(const DeltaShape& shape, const KernelTable* table, ThreadPool* pool)
      : world(config_of(shape), 2, 0) {
    ops = table == nullptr ? make_reference(world) : make_ops(world, *table, *pool);
    const auto n_heads = static_cast<size_t>(shape.n_value_heads);
    const auto n_taps =
        static_cast<size_t>(world.config.delta_net.conv_channels() * shape.conv_kernel);
    args = {.recurrent_layer = 1,
            .conv = ops->add_vector(random_floats(n_taps, 1, 0.5f)),
            .a_log = ops->add_vector(random_floats(n_heads, 2, 0.3f)),
            .dt_bias = ops->add_vector(random_floats(n_heads, 3)),
            .norm = ops->add_vector(random_floats(static_cast<size_t>(shape.value_dim), 4))};
    for (SequenceProgress& p : progress) p.n_folded = p.n_committed = kBegin;
  }

  // Runs the segments and moves the counters as a runner does, keeping `n_accepted` drafts of each.
  // Rows of a sequence are a function of their positions; rows from `spoiled_from` on are others.
  std::span<float> run(std::vector<PassSegment> segments, int32_t n_accepted = 0,
                       int32_t spoiled_from = 1 << 20) {
    for (PassSegment& s : segments) s.n_fold = progress[index(s.state)].n_to_fold();
    const PassOf pass(segments);
    int32_t row = 0;
    for (const PassSegment& s : segments) {
      for (int32_t position = s.position; position < s.position + s.n_rows; ++position) {
        const int32_t other = position >= spoiled_from ? 5000 : 0;
        const auto seed =
            static_cast<uint64_t>(10000 * static_cast<int32_t>(s.state) + position + other);
        fill_random(rows_of(*ops, Act::kProjected, row++, 1), seed);
      }
    }
    const std::span<float> out = rows_of(*ops, Act::kMixed, 0, pass.n_rows);
    std::ranges::fill(out, kNan);
    ops->delta_net(pass, args);
    for (const PassSegment& s : segments) {
      SequenceProgress& moved = progress[index(s.state)];
      moved.n_folded = s.position + s.n_certain;
      moved.n_committed = moved.n_folded + std::min(n_accepted, s.n_rows - s.n_certain);
    }
    return out;
  }
  std::vector<float> run_copy(const std::vector<PassSegment>& segments, int32_t n_accepted = 0) {
    const std::span<float> out = run(segments, n_accepted);
    return {out.begin(), out.end()};
  }

  int32_t position() const { return progress[0].n_committed; }
  const SequenceState& state() const { return world.states[0]; }

  World world;
  std::array<SequenceProgress, 2> progress;
  std::unique_ptr<OpsStorage> ops;
  DeltaNetArgs args;
};

PassSegment segment(int32_t position, int32_t n_rows, int32_t n_certain) {
  return {.position = position, .n_rows = n_rows, .n_certain = n_certain};
}

bool same_state(const SequenceState& a, const SequenceState& b) {
  return same_bits(a.recurrent.span(), b.recurrent.span()) &&
         same_bits(a.conv.span(), b.conv.span());
}

TEST(DeltaNet, AgreesWithTheDefinitionOverPassesThatAcceptSomeDrafts) {
  struct Step {
    int32_t n_rows, n_certain, n_accepted;
  };
  constexpr Step kSteps[] = {{1, 1, 0},  {3, 3, 0},   {6, 2, 3},   {1, 1, 0},
                             {32, 1, 1}, {40, 40, 0}, {32, 1, 31}, {2, 1, 0}};
  ThreadPool pool(2);
  for (const DeltaShape& shape : kDeltaShapes) {
    for (const KernelTable* table : usable_tables()) {
      DeltaNet definition(shape, nullptr, nullptr);
      DeltaNet net(shape, table, &pool);
      for (const Step& step : kSteps) {
        const std::string what = describe(shape, *table) + " at " + std::to_string(net.position());
        const std::vector<PassSegment> segments = {
            segment(net.position(), step.n_rows, step.n_certain)};
        expect_close(net.run(segments, step.n_accepted), definition.run(segments, step.n_accepted),
                     kDeltaTolerance, what);
        expect_close(net.state().recurrent.span(), definition.state().recurrent.span(),
                     kDeltaTolerance, what + ", state");
        EXPECT_TRUE(same_bits(net.state().conv.span(), definition.state().conv.span())) << what;
        expect_close(net.state().kept.span(), definition.state().kept.span(), 1e-6,
                     what + ", kept");
      }
    }
  }
}

TEST(DeltaNet, FoldsAcceptedRowsToTheBitsOfSteppingThem) {
  ThreadPool pool(2);
  for (const DeltaShape& shape : kDeltaShapes) {
    for (const KernelTable* table : usable_tables()) {
      for (const int32_t n_accepted : {0, 1, 4, 31}) {
        DeltaNet stepped(shape, table, &pool);
        const std::vector<float> wanted =
            stepped.run_copy({segment(kBegin, 1 + n_accepted, 1 + n_accepted)});
        DeltaNet folded(shape, table, &pool);
        const std::vector<float> found = folded.run_copy({segment(kBegin, 32, 1)}, n_accepted);
        EXPECT_TRUE(same_bits(std::span(found).first(wanted.size()), wanted))
            << describe(shape, *table);
        folded.run({segment(folded.position(), 0, 0)});
        EXPECT_TRUE(same_state(folded.state(), stepped.state()))
            << describe(shape, *table) << ", accepted " << n_accepted;
      }
    }
  }
}

TEST(DeltaNet, DraftedRowsLeaveNoTrace) {
  ThreadPool pool(1);
  for (const DeltaShape& shape : kDeltaShapes) {
    for (const KernelTable* table : usable_tables()) {
      DeltaNet plain(shape, table, &pool);
      DeltaNet drafting(shape, table, &pool);
      plain.run({segment(kBegin, 2, 2)});
      drafting.run({segment(kBegin, 9, 2)}, 0, kBegin + 2);
      EXPECT_TRUE(same_state(drafting.state(), plain.state())) << describe(shape, *table);
      const std::vector<float> wanted = plain.run_copy({segment(kBegin + 2, 1, 1)});
      EXPECT_TRUE(same_bits(drafting.run_copy({segment(kBegin + 2, 1, 1)}), wanted))
          << describe(shape, *table);
    }
  }
}

TEST(DeltaNet, GivesARowTheSameBitsInAnySegmentOnAnyNumberOfThreads) {
  constexpr int32_t kRows = 40;
  for (const DeltaShape& shape : kDeltaShapes) {
    for (const KernelTable* table : usable_tables()) {
      ThreadPool one(1);
      DeltaNet alone(shape, table, &one);
      const size_t width = alone.ops->stride(Act::kMixed);
      std::vector<float> wanted;
      for (int32_t i = 0; i < kRows; ++i) {
        const std::span<float> y = alone.run({segment(kBegin + i, 1, 1)});
        wanted.insert(wanted.end(), y.begin(), y.end());
      }
      for (const int n_threads : {1, 2, 3}) {
        ThreadPool pool(n_threads);
        for (const int32_t n_rows : {2, 3, 7, 33, 40}) {
          DeltaNet together(shape, table, &pool);
          int32_t neighbour = kBegin;
          for (int32_t i = 0; i < kRows; i += n_rows) {
            const int32_t n = std::min(n_rows, kRows - i);
            const PassSegment other{
                .state = StateId{1}, .position = neighbour, .n_rows = 4, .n_certain = 2};
            const std::span<float> y = together.run({other, segment(kBegin + i, n, n)}, 1);
            neighbour += 3;
            ASSERT_TRUE(same_bits(y.subspan(4 * width),
                                  std::span(wanted).subspan(static_cast<size_t>(i) * width,
                                                            static_cast<size_t>(n) * width)))
                << describe(shape, *table) << ": rows from " << i << ", width " << n_rows
                << ", threads " << n_threads;
          }
          EXPECT_TRUE(same_state(together.state(), alone.state())) << describe(shape, *table);
        }
      }
    }
  }
}

// With an empty state one token leaves beta k v^T and reads beta (k.q) v.
TEST(ReferenceDeltaNet, WritesAndReadsOneToken) {
  const DeltaShape shape = {1, 1, 8, 32, 2};
  DeltaNet net(shape, nullptr, nullptr);
  std::ranges::fill(net.world.states[0].recurrent.span(), 0.0f);
  std::vector<float> taps(48 * 2);  // the current token only
  for (size_t c = 0; c < 48; ++c) taps[2 * c + 1] = 1.0f;
  net.args.conv = net.ops->add_vector(taps);
  net.args.norm = net.ops->add_vector(std::vector<float>(32, 1.0f));
  const std::vector<float> out = net.run_copy({segment(kBegin, 1, 1)});

  const float* x = net.ops->act(Act::kProjected);  // [q 8 | k 8 | v 32 | z 32 | b | a]
  const auto silu = [](double y) { return y / (1 + std::exp(-y)); };
  std::vector<double> q, k, v;
  for (int32_t i = 0; i < 8; ++i) q.push_back(silu(static_cast<double>(x[i])));
  for (int32_t i = 8; i < 16; ++i) k.push_back(silu(static_cast<double>(x[i])));
  for (int32_t i = 16; i < 48; ++i) v.push_back(silu(static_cast<double>(x[i])));
  const double norm_q = std::sqrt(std::inner_product(q.begin(), q.end(), q.begin(), 1e-6));
  const double norm_k = std::sqrt(std::inner_product(k.begin(), k.end(), k.begin(), 1e-6));
  const double beta = 1 / (1 + std::exp(-static_cast<double>(x[80])));
  const double read = beta * std::inner_product(q.begin(), q.end(), k.begin(), 0.0) / norm_q /
                      norm_k / std::sqrt(8.0);
  const double mean_square =
      read * read * std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / 32;
  const float* state = net.state().recurrent.data() + net.world.layout.recurrent_floats();
  for (size_t j = 0; j < 32; ++j) {
    for (size_t i = 0; i < 8; ++i)
      EXPECT_NEAR(state[i * 32 + j], beta * k[i] / norm_k * v[j], 1e-6);
    const double wanted =
        read * v[j] / std::sqrt(mean_square + 1e-6) * silu(static_cast<double>(x[48 + j]));
    EXPECT_NEAR(out[j], wanted, 1e-5);
  }
}

TEST(ReferenceDeltaNet, DecaysTheStateByTheGate) {
  const DeltaShape shape = {1, 1, 8, 32, 2};
  DeltaNet net(shape, nullptr, nullptr);
  net.args.conv = net.ops->add_vector(
      std::vector<float>(48 * 2));  // q, k and v become zero: only the decay is left
  const std::vector<float> a_log = random_floats(1, 2, 0.3f), dt_bias = random_floats(1, 3);
  const std::span<float> state =
      net.world.states[0].recurrent.span().subspan(net.world.layout.recurrent_floats());
  const std::vector<float> before(state.begin(), state.end());
  net.run({segment(kBegin, 1, 1)});
  const double a =
      static_cast<double>(net.ops->act(Act::kProjected)[81]) + static_cast<double>(dt_bias[0]);
  const double decay = std::exp(-std::exp(static_cast<double>(a_log[0])) * std::log1p(std::exp(a)));
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(state[i], decay * static_cast<double>(before[i]), 1e-7);
}

}  // namespace
}  // namespace slip::cpu
