// Routed experts of every kernel table against ReferenceOps, ReferenceOps by hand, and the law that
// a row's bits do not depend on its company.
#include "backend/cpu/matrix_fixture.h"
#include "backend/cpu/ops_fixture.h"

namespace slip::cpu {
namespace {

// A product's rounding (about 1e-6 of its terms, as in ops_project_test.cc), twice in a row, and
// the exponential of a router's logit that carries the same error: 5e-6 with margin.
constexpr double kExpertsTolerance = 5e-6;
// Besides, where a kernel rounds inputs to eight bits of mantissa, once before the gate and once
// before the last product: 2^-9 / sqrt(3) of every term each time, random from term to term, which
// SiLU and its product double; 2.5e-3 together. Four sigma, and a
// row may be twice as large as the typical one.
constexpr double kRoundedTwice = 2e-2;

struct ExpertsCase {
  const char* name;
  WeightFormat format;
  ExpertsConfig config;
};

const ExpertsCase kCases[] = {
    {"plain", WeightFormat::kBF16, {8, 2, 96, 0, true}},
    {"as_they_are", WeightFormat::kF32, {8, 3, 72, 0, false}},
    {"shared", WeightFormat::kAffine4, {70, 4, 96, 160, true}},
    {"one", WeightFormat::kBF16, {1, 1, 64, 64, true}},
};
constexpr int32_t kWidth = 128;

ModelConfig experts_config(const ExpertsCase& c) {
  ModelConfig config;
  config.hidden_size = kWidth;
  config.vocab_size = 8;
  config.rms_norm_eps = 1e-6f;
  config.experts = c.config;
  return config;
}

// One case on one implementation.
struct Experts {
  Experts(const ExpertsCase& c, OpsStorage& ops_used) : ops(ops_used) {
    const ExpertsConfig& e = c.config;
    args.norm = ops.add_vector(random_floats(kWidth, 9));
    args.router = add({WeightFormat::kF32, 0, e.n_experts, kWidth}, 1, MatrixUse::kOther);
    for (int32_t i = 0; i < e.n_experts; ++i)
      refs.push_back(add_ffn(c.format, e.intermediate_size, 100 * static_cast<uint64_t>(i + 1)));
    FfnRefs shared;
    if (e.shared_intermediate_size > 0) shared = add_ffn(c.format, e.shared_intermediate_size, 7);
    args.experts = ops.add_experts(refs, shared);
    if (e.shared_intermediate_size == 0) return;
    args.shared_gate = add({WeightFormat::kBF16, 0, 1, kWidth}, 8, MatrixUse::kOther);
  }

  MatrixRef add(const MatrixShape& shape, uint64_t seed, MatrixUse use = MatrixUse::kProduct) {
    matrices.push_back(make_matrix(shape, seed));
    return ops.add_matrix(matrices.back().view, use);
  }
  FfnRefs add_ffn(WeightFormat format, int32_t size, uint64_t seed) {
    const int32_t group_size = group_size_of(format);
    return {.gate = add({format, group_size, size, kWidth}, seed),
            .up = add({format, group_size, size, kWidth}, seed + 1),
            .down = add({format, group_size, kWidth, size}, seed + 2)};
  }

  // Row i of the residual is number first + i of an endless list.
  std::span<float> run(int32_t n_rows, int32_t first) {
    for (int32_t i = 0; i < n_rows; ++i) {
      fill_random(rows_of(ops, Act::kResidual, i, 1), static_cast<uint64_t>(1000 + first + i));
    }
    ops.experts(one_segment(n_rows), args);
    return rows_of(ops, Act::kResidual, 0, n_rows);
  }

  OpsStorage& ops;
  std::deque<MatrixBytes> matrices;
  std::vector<FfnRefs> refs;
  ExpertsArgs args;
};

TEST(Experts, AgreeWithTheDefinition) {
  ThreadPool pool(2);
  for (const ExpertsCase& c : kCases) {
    World world(experts_config(c), 1, 0);
    const auto reference = make_reference(world);
    Experts definition(c, *reference);
    for (const KernelTable* table : usable_tables()) {
      const auto ops = make_ops(world, *table, pool);
      Experts experts(c, *ops);
      for (const int32_t n_rows : {1, 2, 5, 40}) {
        expect_close(experts.run(n_rows, 0), definition.run(n_rows, 0),
                     kExpertsTolerance + (table->packed.front().rounds_inputs ? kRoundedTwice : 0),
                     std::string(c.name) + " " + std::string(table->name) + " rows " +
                         std::to_string(n_rows));
      }
    }
  }
}

TEST(Experts, GiveARowTheSameBitsInAnyCompanyAndOnAnyNumberOfThreads) {
  for (const ExpertsCase& c : kCases) {
    World world(experts_config(c), 1, 0);
    for (const KernelTable* table : usable_tables()) {
      ThreadPool alone(1);
      const auto ops = make_ops(world, *table, alone);
      Experts experts(c, *ops);
      std::vector<std::vector<float>> wanted;
      for (int32_t row = 0; row < 90; ++row) {
        const std::span<float> y = experts.run(1, row);
        wanted.emplace_back(y.begin(), y.end());
      }
      for (const int n_threads : {1, 3}) {
        ThreadPool pool(n_threads);
        const auto others = make_ops(world, *table, pool);
        Experts together(c, *others);
        for (const int32_t n_rows : {1, 2, 4, 5, 8, 31, 32, 90}) {
          const std::span<float> y = together.run(n_rows, 90 - n_rows);
          for (int32_t row = 0; row < n_rows; ++row) {
            ASSERT_TRUE(same_bits(y.subspan(static_cast<size_t>(row * kWidth), kWidth),
                                  wanted[static_cast<size_t>(90 - n_rows + row)]))
                << c.name << " " << table->name << ": row " << row << " of " << n_rows
                << ", threads " << n_threads;
          }
        }
      }
    }
  }
}

TEST(Experts, KeepARowThatIsNotFiniteToItself) {
  const ExpertsCase& c = kCases[2];
  World world(experts_config(c), 1, 0);
  ThreadPool pool(2);
  for (const KernelTable* table : usable_tables()) {
    const auto ops = make_ops(world, *table, pool);
    Experts experts(c, *ops);
    const std::span<float> clean = experts.run(3, 0);
    const std::vector<float> wanted(clean.begin() + 2 * kWidth, clean.end());
    for (int32_t i = 0; i < 3; ++i) {
      fill_random(rows_of(*ops, Act::kResidual, i, 1), static_cast<uint64_t>(1000 + i));
    }
    ops->row(Act::kResidual, 1)[5] = kNan;
    ops->experts(one_segment(3), experts.args);
    EXPECT_TRUE(std::isnan(ops->row(Act::kResidual, 1)[0])) << table->name;
    EXPECT_TRUE(same_bits(rows_of(*ops, Act::kResidual, 2, 1), wanted)) << table->name;
  }
}

// Width 8, networks of 8 whose gate is so open that silu is the identity within float.
struct ByHand {
  explicit ByHand(const ExpertsConfig& e) {
    config.hidden_size = 8;
    config.vocab_size = 8;
    config.experts = e;
    world = std::make_unique<World>(config, 1, 0);
    ops = make_reference(*world);
    args.norm = ops->add_vector(std::vector<float>(8, 1.0f));
  }
  // A matrix that is `value` on its diagonal.
  MatrixRef diagonal(float value) {
    std::vector<float>& m = memory.emplace_back(64);
    for (size_t i = 0; i < 8; ++i) m[9 * i] = value;
    return add(m, 8);
  }
  MatrixRef add(const std::vector<float>& m, int32_t n_out) {
    return ops->add_matrix(
        {.n_out = n_out, .n_in = 8, .data = reinterpret_cast<const std::byte*>(m.data())},
        MatrixUse::kOther);
  }
  // x -> value * x * x for x = 1: gate 50, up 1 / 50, down value.
  FfnRefs network(float value) {
    return {.gate = diagonal(50), .up = diagonal(1.0f / 50), .down = diagonal(value)};
  }
  // The first element after one row of ones; the norm leaves ones as they are.
  float run() {
    std::fill_n(ops->act(Act::kResidual), 8, 1.0f);
    args.experts = ops->add_experts(refs, shared);
    ops->experts(one_segment(1), args);
    return ops->act(Act::kResidual)[0];
  }

  ModelConfig config;
  std::unique_ptr<World> world;
  std::unique_ptr<OpsStorage> ops;
  std::deque<std::vector<float>> memory;
  std::vector<FfnRefs> refs;
  FfnRefs shared;
  ExpertsArgs args;
};

// Router logits 0, ln 3, ln 2, ln 2 of four experts: probabilities 1/8, 3/8, 2/8, 2/8.
void add_router(ByHand& h) {
  std::vector<float>& router = h.memory.emplace_back(4 * 8);
  router[8] = std::log(3.0f);
  router[16] = router[24] = std::log(2.0f);
  h.args.router = h.add(router, 4);
  for (const float value : {1.0f, 10.0f, 100.0f, 1000.0f}) h.refs.push_back(h.network(value));
}

TEST(ReferenceExperts, ChooseTheLargestAndTheLowerIndexAmongEquals) {
  ByHand h({.n_experts = 4, .n_experts_per_token = 2, .intermediate_size = 8});
  add_router(h);
  EXPECT_NEAR(h.run(), 1 + (3.0 / 5) * 10 + (2.0 / 5) * 100, 1e-3);
}

TEST(ReferenceExperts, UseTheProbabilitiesAsTheyAreWhereTheConfigurationSaysSo) {
  ByHand h(
      {.n_experts = 4, .n_experts_per_token = 2, .intermediate_size = 8, .renormalise = false});
  add_router(h);
  EXPECT_NEAR(h.run(), 1 + (3.0 / 8) * 10 + (2.0 / 8) * 100, 1e-3);
}

TEST(ReferenceExperts, AddTheSharedExpertThroughItsGate) {
  ByHand h({.n_experts = 4,
            .n_experts_per_token = 1,
            .intermediate_size = 8,
            .shared_intermediate_size = 8});
  add_router(h);
  h.shared = h.network(7);
  std::vector<float>& gate = h.memory.emplace_back(8);
  gate[0] = -std::log(3.0f);  // sigmoid: 1 / 4
  h.args.shared_gate = h.add(gate, 1);
  EXPECT_NEAR(h.run(), 1 + 10 + 7.0 / 4, 1e-3);
}

}  // namespace
}  // namespace slip::cpu
