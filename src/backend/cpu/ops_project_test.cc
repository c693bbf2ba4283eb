// Products, norms and embeddings of every kernel table against ReferenceOps, and ReferenceOps
// against numbers computed by hand.
#include "backend/cpu/matrix_fixture.h"
#include "backend/cpu/ops_fixture.h"
#include "base/error.h"

namespace slip::cpu {
namespace {

// Float sums of up to 1,152 terms in eight lanes: a random walk of 144 roundings of 2^-24 is 7e-7
// of the answer's root mean square; the worst of some thousand elements lies within five times
// that, and a norm or SiLU adds a few ulp.
constexpr double kProductTolerance = 4e-6;
// Besides, where a kernel rounds what comes out of a norm to eight bits of mantissa: 2^-9 / sqrt(3)
// of every term, random from term to term, and so of the answer; SiLU and a product double it; four
// sigma. Without a norm the inputs of these tests are such numbers already, and the kernel is held
// to exact weights.
constexpr double kRoundedInputs = 1e-2;
// Norms: a mean, a square root and two products.
constexpr double kNormTolerance = 1e-6;

struct ProjectCase {
  const char* name;
  WeightFormat format;
  int32_t group_size;
  int32_t n_in;
  std::vector<int32_t> n_outs;
  Epilogue epilogue = Epilogue::kNone;
  bool has_norm = false;
  int32_t out_column = 0;
  DType scale_type = DType::kBF16;
};

const ProjectCase kProjectCases[] = {
    {"one_vector", WeightFormat::kF32, 0, 8, {1}},
    {"f32", WeightFormat::kF32, 0, 520, {67}},
    {"bf16", WeightFormat::kBF16, 0, 136, {4, 9}},
    {"bf16_wide", WeightFormat::kBF16, 0, 1032, {21}},
    {"f16", WeightFormat::kF16, 0, 136, {4, 9}},
    {"affine2", WeightFormat::kAffine2, 32, 192, {33}},
    {"affine3", WeightFormat::kAffine3, 64, 192, {33}},
    {"affine4", WeightFormat::kAffine4, 64, 576, {33}, Epilogue::kNone, true},
    {"affine5", WeightFormat::kAffine5, 128, 640, {33}},
    {"affine6", WeightFormat::kAffine6, 32, 96, {33}},
    {"affine4_f16_scales",
     WeightFormat::kAffine4,
     64,
     128,
     {33},
     Epilogue::kNone,
     false,
     0,
     DType::kF16},
    {"affine8_f32_scales",
     WeightFormat::kAffine8,
     64,
     128,
     {9},
     Epilogue::kNone,
     false,
     0,
     DType::kF32},
    {"fp8_block", WeightFormat::kFp8Block, 128, 136, {300, 7}},
    {"fp8_block_wide",
     WeightFormat::kFp8Block,
     128,
     768,
     {130},
     Epilogue::kNone,
     true,
     0,
     DType::kF32},
    {"affine_group_32", WeightFormat::kAffine8, 32, 96, {33}},
    {"affine_group_64", WeightFormat::kAffine8, 64, 384, {130, 7, 1, 64}, Epilogue::kNone, true},
    {"affine_group_128", WeightFormat::kAffine8, 128, 1152, {19}},
    {"affine8_strips", WeightFormat::kAffine8, 128, 640, {200, 70}},
    {"affine4_strips", WeightFormat::kAffine4, 32, 192, {130, 64}},
    {"bf16_strips", WeightFormat::kBF16, 0, 96, {65, 128}},
    {"silu_mul_strips", WeightFormat::kAffine4, 64, 192, {75, 75}, Epilogue::kSiluMul},
    {"affine_group_across_panels", WeightFormat::kAffine8, 40, 600, {12}},
    {"silu_mul", WeightFormat::kAffine8, 64, 128, {75, 75}, Epilogue::kSiluMul, true},
    {"add_residual", WeightFormat::kAffine8, 64, 640, {75}, Epilogue::kAddResidual},
    {"at_a_column", WeightFormat::kF32, 0, 64, {11, 5}, Epilogue::kNone, false, 9},
};

std::vector<int32_t> row_counts() {
  std::vector<int32_t> counts(33);
  std::iota(counts.begin(), counts.end(), 1);
  counts.push_back(64);
  return counts;
}

// One case on one implementation.
struct Projection {
  Projection(const ProjectCase& c, OpsStorage& ops_used)
      : ops(ops_used), args{.x = Act::kResidual, .out = Act::kLogits} {
    for (size_t i = 0; i < c.n_outs.size(); ++i) {
      matrices.push_back(
          make_matrix({c.format, c.group_size, c.n_outs[i], c.n_in, c.scale_type}, 10 * i));
      refs.push_back(ops.add_matrix(matrices.back().view, MatrixUse::kProduct));
    }
    if (c.has_norm) args.norm = ops.add_vector(random_floats(static_cast<size_t>(c.n_in), 77));
    args.weights = refs;
    args.epilogue = c.epilogue;
    args.out_column = c.out_column;
  }

  // Row i of x is number (first + i * step) of an endless list; what is written starts as NaN, what
  // is added to as ones.
  std::span<float> run(int32_t n_rows, int32_t first, int32_t step) {
    for (int32_t i = 0; i < n_rows; ++i) {
      const std::span<float> x = rows_of(ops, args.x, i, 1);
      fill_random(x, static_cast<uint64_t>(1000 + first + i * step));
      for (float& value : x) value = to_float(to_bfloat16(value));
    }
    const std::span<float> out = rows_of(ops, args.out, 0, n_rows);
    std::ranges::fill(out, args.epilogue == Epilogue::kAddResidual ? 1.0f : kNan);
    args.n_rows = n_rows;
    ops.project(args);
    return out;
  }

  OpsStorage& ops;
  std::deque<MatrixBytes> matrices;
  std::vector<MatrixRef> refs;
  ProjectArgs args;
};

ModelConfig project_config(const ProjectCase& c) {
  ModelConfig config;
  config.hidden_size = c.n_in;
  config.intermediate_size = 8;
  config.rms_norm_eps = 1e-6f;
  config.vocab_size = c.out_column + std::accumulate(c.n_outs.begin(), c.n_outs.end(), 0);
  return config;
}

TEST(Project, AgreesWithTheDefinitionForEveryFormatWidthAndRowCount) {
  ThreadPool pool(2);
  for (const ProjectCase& c : kProjectCases) {
    World world(project_config(c), 1, 0);
    const auto reference = make_reference(world);
    Projection definition(c, *reference);
    for (const KernelTable* table : usable_tables()) {
      const auto ops = make_ops(world, *table, pool);
      Projection projection(c, *ops);
      const PackedProducts& packed = table->packed.front();
      const bool rounds =
          c.has_norm && packed.rounds_inputs && packed.maybe_for(projection.matrices[0].view);
      for (const int32_t n_rows : {1, 2, 3, 4, 5, 7, 33, 96}) {
        expect_close(projection.run(n_rows, 0, 1), definition.run(n_rows, 0, 1),
                     kProductTolerance + (rounds ? kRoundedInputs : 0),
                     std::string(c.name) + " " + std::string(table->name) + " rows " +
                         std::to_string(n_rows));
      }
    }
  }
}

TEST(Project, GivesARowTheSameBitsInAnyCompanyAndOnAnyNumberOfThreads) {
  for (const ProjectCase& c : kProjectCases) {
    World world(project_config(c), 1, 0);
    for (const KernelTable* table : usable_tables()) {
      ThreadPool alone(1);
      const auto ops = make_ops(world, *table, alone);
      Projection projection(c, *ops);
      std::vector<std::vector<float>> wanted;
      for (int32_t row = 0; row < 64; ++row) {
        const std::span<float> y = projection.run(1, row, 1);
        wanted.emplace_back(y.begin(), y.end());
      }
      for (const int n_threads : {1, 2, 3}) {
        ThreadPool pool(n_threads);
        const auto others = make_ops(world, *table, pool);
        Projection together(c, *others);
        for (const int32_t n_rows : row_counts()) {
          const std::span<float> y = together.run(n_rows, 64 - n_rows, 1);
          for (int32_t row = 0; row < n_rows; ++row) {
            const size_t width = others->stride(Act::kLogits);
            ASSERT_TRUE(same_bits(y.subspan(static_cast<size_t>(row) * width, width),
                                  wanted[static_cast<size_t>(64 - n_rows + row)]))
                << c.name << " " << table->name << ": row " << row << " of " << n_rows
                << ", threads " << n_threads;
          }
        }
      }
    }
  }
}

// Scales of one and inputs of one: what a code stands for is what comes out, in every place of a
// strip.
TEST(PackedProjection, HoldsEveryCodeExactly) {
  ThreadPool pool(2);
  for (const WeightFormat format :
       {WeightFormat::kAffine4, WeightFormat::kAffine8, WeightFormat::kFp8Block}) {
    constexpr int32_t kOuts = 256, kIn = 128;
    MatrixBytes m = make_matrix({format, 128, kOuts, kIn, DType::kF32}, 1);
    const size_t row_bytes = m.view.row_bytes();
    for (size_t i = 0; i < kOuts * row_bytes; ++i)
      m.data[1 + i] = static_cast<std::byte>(i / row_bytes);
    const float one = 1.0f, half = 0.5f;
    for (size_t i = 0; i < m.view.n_scale_rows() * m.view.n_groups(); ++i) {
      std::memcpy(m.scales.data() + 1 + i * sizeof one, &one, sizeof one);
      if (!m.biases.empty()) std::memcpy(m.biases.data() + 1 + i * sizeof half, &half, sizeof half);
    }
    ModelConfig config;
    config.hidden_size = kIn;
    config.intermediate_size = 8;
    config.vocab_size = kOuts;
    for (const KernelTable* table : usable_tables()) {
      World world(config, 1, 0);
      CpuOps ops(world.config, world.layout, world.states, kPlan, pool, *table);
      const MatrixRef ref = ops.add_matrix(m.view, MatrixUse::kProduct);
      EXPECT_EQ(ops.product_kernel(ref), table->packed.front().name);
      for (const int32_t column : {0, 1, 31, 32, 77, 127}) {
        std::fill_n(ops.act(Act::kResidual), kIn, 0.0f);
        ops.act(Act::kResidual)[column] = 1.0f;
        ops.project({.x = Act::kResidual, .weights = {&ref, 1}, .out = Act::kLogits, .n_rows = 1});
        for (int32_t o = 0; o < kOuts; ++o) {
          std::vector<float> wanted(kIn);
          dequantize_row(m.view, o, wanted);
          const float found = ops.act(Act::kLogits)[o];
          if (std::isnan(wanted[static_cast<size_t>(column)])) {
            EXPECT_TRUE(std::isnan(found)) << name(format) << " code " << o;
          } else {
            EXPECT_EQ(found, wanted[static_cast<size_t>(column)]) << name(format) << " code " << o;
          }
        }
      }
    }
  }
}

TEST(PackedProjection, CountsItsCopiesAndLeavesOtherMatricesAlone) {
  ThreadPool pool(1);
  const MatrixBytes m = make_matrix({WeightFormat::kAffine8, 64, 70, 128}, 1);
  ModelConfig config;
  config.hidden_size = 128;
  config.intermediate_size = 8;
  config.vocab_size = 70;
  for (const KernelTable* table : usable_tables()) {
    World world(config, 1, 0);
    CpuOps ops(world.config, world.layout, world.states, kPlan, pool, *table);
    EXPECT_EQ(ops.product_kernel(ops.add_matrix(m.view, MatrixUse::kOther)), "fma");
    EXPECT_EQ(ops.packed_bytes(), 0);
    ops.add_matrix(m.view, MatrixUse::kProduct);
    // Two strips of 64 outputs: codes, scales and biases.
    EXPECT_EQ(ops.packed_bytes(), 128 * (128 + 2 * 2 * 2)) << table->name;
  }
}

TEST(Project, AddsTheBiasOfEachOutput) {
  ThreadPool pool(2);
  ProjectCase c{"biased", WeightFormat::kBF16, 0, 64, {70, 5}, Epilogue::kNone, false, 9};
  World world(project_config(c), 1, 0);
  const std::vector<float> bias = random_floats(75, 55);
  for (const KernelTable* table : usable_tables()) {
    const auto ops = make_ops(world, *table, pool);
    Projection plain(c, *ops);
    const std::span<float> y = plain.run(6, 0, 1);
    std::vector<float> wanted(y.begin(), y.end());
    for (size_t i = 0; i < wanted.size(); ++i) {
      const size_t column = i % ops->stride(Act::kLogits);
      if (column >= 9) wanted[i] += bias[column - 9];
    }
    Projection biased(c, *ops);
    biased.args.bias = ops->add_vector(bias);
    expect_close(biased.run(6, 0, 1), wanted, 0, std::string(table->name));
  }
  const auto reference = make_reference(world);
  Projection definition(c, *reference);
  const std::span<float> y = definition.run(1, 0, 1);
  const float without = y[9 + 3];
  definition.args.bias = reference->add_vector(bias);
  EXPECT_FLOAT_EQ(definition.run(1, 0, 1)[9 + 3], without + bias[3]);
}

TEST(Project, LeavesColumnsOutsideItsOutputsAlone) {
  ThreadPool pool(1);
  const ProjectCase c{"at_a_column", WeightFormat::kF32, 0, 64, {11, 5}, Epilogue::kNone, false, 9};
  World world(project_config(c), 1, 0);
  for (const KernelTable* table : usable_tables()) {
    const auto ops = make_ops(world, *table, pool);
    Projection projection(c, *ops);
    const std::span<float> y = projection.run(5, 0, 1);
    const size_t width = ops->stride(Act::kLogits);
    for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(std::isnan(y[i]), i % width < 9) << i;
  }
}

TEST(Project, RefusesAWidthThatVectorsCannotDivide) {
  World world(project_config(kProjectCases[0]), 1, 0);
  const auto ops = make_reference(world);
  EXPECT_THROW(
      ops->add_matrix({.format = WeightFormat::kF32, .n_out = 1, .n_in = 12}, MatrixUse::kProduct),
      Error);
}

TEST(ReferenceProject, MultipliesByHand) {
  ModelConfig config = project_config({"", WeightFormat::kF32, 0, 8, {2}});
  World world(config, 1, 0);
  const auto ops = make_reference(world);
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, -1};
  const MatrixRef w = ops->add_matrix(
      {.n_out = 2, .n_in = 8, .data = reinterpret_cast<const std::byte*>(weights.data())},
      MatrixUse::kProduct);
  for (int32_t i = 0; i < 8; ++i)
    ops->act(Act::kResidual)[i] = static_cast<float>(i == 0 ? 10 : i == 7 ? 2 : 0);
  ops->project({.x = Act::kResidual, .weights = {&w, 1}, .out = Act::kLogits, .n_rows = 1});
  EXPECT_EQ(ops->act(Act::kLogits)[0], 26.0f);
  EXPECT_EQ(ops->act(Act::kLogits)[1], -2.0f);
  const MatrixRef both[] = {w, w};
  ops->project({.x = Act::kResidual,
                .weights = both,
                .epilogue = Epilogue::kSiluMul,
                .out = Act::kLogits,
                .n_rows = 1});
  EXPECT_FLOAT_EQ(ops->act(Act::kLogits)[1], 4.0f / (1.0f + std::exp(2.0f)));
}

TEST(Norm, AgreesWithTheDefinitionInPlaceAndBesideOtherColumns) {
  ModelConfig config = project_config({"", WeightFormat::kF32, 0, 136, {1}});
  ThreadPool pool(3);
  for (const KernelTable* table : usable_tables()) {
    for (const NormArgs& args :
         {NormArgs{.x = Act::kResidual, .out = Act::kResidual},
          NormArgs{.x = Act::kResidual, .out = Act::kFusion, .out_column = 136}}) {
      for (const int32_t n_rows : {1, 9}) {
        World world(config, 1, 0);
        const auto ops = make_ops(world, *table, pool);
        const auto reference = make_reference(world);
        for (OpsStorage* o : {ops.get(), reference.get()}) {
          fill_random(rows_of(*o, Act::kResidual, 0, n_rows), 3);
          std::ranges::fill(rows_of(*o, Act::kFusion, 0, n_rows), kNan);
          NormArgs with_weight = args;
          with_weight.weight = o->add_vector(random_floats(136, 4));
          o->norm(one_segment(n_rows), with_weight);
        }
        expect_close(rows_of(*ops, args.out, 0, n_rows), rows_of(*reference, args.out, 0, n_rows),
                     kNormTolerance, std::string(table->name));
      }
    }
  }
}

TEST(ReferenceNorm, ScalesToUnitMeanSquare) {
  ModelConfig config = project_config({"", WeightFormat::kF32, 0, 8, {1}});
  World world(config, 1, 0);
  const auto ops = make_reference(world);
  std::fill_n(ops->act(Act::kResidual), 8, -3.0f);
  const VectorRef weight = ops->add_vector(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8});
  ops->norm(one_segment(1), {.x = Act::kResidual, .weight = weight, .out = Act::kNormed});
  for (int32_t i = 0; i < 8; ++i)
    EXPECT_FLOAT_EQ(ops->act(Act::kNormed)[i], static_cast<float>(-i - 1));
}

TEST(Embed, CopiesDecodedRowsOfEveryFormatBitForBit) {
  ThreadPool pool(2);
  for (int i = 0; i < kWeightFormatCount; ++i) {
    const auto format = static_cast<WeightFormat>(i);
    const MatrixShape shape{format, group_size_of(format), 40, 192};
    const MatrixBytes table = make_matrix(shape, 5);
    World world(project_config({"", format, shape.group_size, 192, {1}}), 1, 0);
    const auto reference = make_reference(world);
    reference->embed(one_segment(40), reference->add_matrix(table.view, MatrixUse::kOther),
                     Act::kResidual);
    for (const KernelTable* kernels : usable_tables()) {
      const auto ops = make_ops(world, *kernels, pool);
      ops->embed(one_segment(40), ops->add_matrix(table.view, MatrixUse::kOther), Act::kResidual);
      EXPECT_TRUE(same_bits(rows_of(*ops, Act::kResidual, 0, 40),
                            rows_of(*reference, Act::kResidual, 0, 40)))
          << name(format) << " " << kernels->name;
    }
  }
}

TEST(Embed, DecodesEveryFp8CodeAsItsDefinition) {
  std::vector<std::byte> codes(256);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
  const std::vector<float> scales(2, 0.5f);
  const WeightView table{.format = WeightFormat::kFp8Block,
                         .scale_type = DType::kF32,
                         .n_out = 1,
                         .n_in = 256,
                         .group_size = kFp8BlockColumns,
                         .data = codes.data(),
                         .scales = reinterpret_cast<const std::byte*>(scales.data())};
  ThreadPool pool(1);
  World world(project_config({"", table.format, table.group_size, 256, {1}}), 1, 0);
  for (const KernelTable* kernels : usable_tables()) {
    const auto ops = make_ops(world, *kernels, pool);
    ops->embed(one_segment(1), ops->add_matrix(table, MatrixUse::kOther), Act::kResidual);
    for (size_t i = 0; i < 256; ++i) {
      const float wanted = e4m3_to_float(static_cast<uint8_t>(i)) * 0.5f;
      const float found = ops->act(Act::kResidual)[i];
      EXPECT_TRUE(found == wanted || (std::isnan(found) && std::isnan(wanted)))
          << kernels->name << ": code " << i << " is " << found << ", wanted " << wanted;
    }
  }
}

TEST(CopyRows, PutsEveryRowWhereItIsTold) {
  World world(project_config(kProjectCases[0]), 1, 0);
  const auto ops = make_reference(world);
  fill_random(rows_of(*ops, Act::kNormed, 0, 5), 1);
  const std::vector<RowCopy> copies = {{4, 1}, {0, 2}, {4, 0}};
  ops->copy_rows(Act::kNormed, Act::kSelected, copies);
  for (const RowCopy& copy : copies) {
    EXPECT_TRUE(same_bits(rows_of(*ops, Act::kSelected, copy.to, 1),
                          rows_of(*ops, Act::kNormed, copy.from, 1)));
  }
}

}  // namespace
}  // namespace slip::cpu
