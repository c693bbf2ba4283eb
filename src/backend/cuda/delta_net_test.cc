// The gated delta net against ReferenceOps, and the law that makes rejection free: folding a kept
// row gives the bits that stepping it gave.
#include "backend/cuda/kernels/delta_net/delta_net.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cpu/ops_fixture.h"
#include "backend/cuda/kernel_fixture.h"

namespace slip::cuda {
namespace {

// As for the kernels of the CPU: two sums over the keys a row, errors of earlier rows decay.
constexpr double kDeltaNetTolerance = 1e-5;

constexpr int32_t kSequences = 2, kLayers = 2, kLayer = 1, kBegin = 5, kNetRowsMax = 96;

constexpr DeltaNetConfig kNetShapes[] = {{2, 4, 128, 128, 4},
                                         {1, 1, 32, 32, 4},
                                         {2, 6, 64, 96, 3},
                                         {1, 3, 8, 64, 2},
                                         {1, 1, 144, 32, 4}};

// Rows that one sequence runs in a step.
struct StepRows {
  int32_t sequence = 0;
  int32_t n_rows = 0, n_certain = 0;
  int32_t n_accepted = 0;  // of the drafted rows, afterwards
};

struct Counters {
  int32_t position = kBegin, n_fold = 0;
};

// Rows of a sequence are a function of their positions; those that are spoiled are NaN.
std::vector<float> inputs_of(size_t width, const std::vector<StepRows>& steps,
                             const std::vector<Counters>& counters, int32_t spoiled_from) {
  std::vector<float> rows;
  for (const StepRows& s : steps) {
    for (int32_t i = 0; i < s.n_rows; ++i) {
      const int32_t position = counters[at(s.sequence)].position + i;
      std::vector<float> row(width, kNan);
      if (position < spoiled_from)
        cpu::fill_random(row, static_cast<uint64_t>(10000 * s.sequence + position));
      rows.insert(rows.end(), row.begin(), row.end());
    }
  }
  return rows;
}

void move_on(const std::vector<StepRows>& steps, std::vector<Counters>& counters) {
  for (const StepRows& s : steps) {
    Counters& c = counters[at(s.sequence)];
    c.position += s.n_certain + s.n_accepted;
    c.n_fold = s.n_accepted;
  }
}

// The definition, with sequences of its own.
class Definition {
 public:
  explicit Definition(const DeltaNetConfig& shape)
      : world_(cpu::delta_net_model(shape, kLayers), kSequences, 0),
        ops_(cpu::make_reference(world_)) {
    const DeltaNetConfig& d = world_.config.delta_net;
    const auto add = [&](int32_t n, uint64_t seed, float scale) {
      return ops_->add_vector(cpu::random_floats(at(n), seed, scale));
    };
    args_ = {.recurrent_layer = kLayer,
             .conv = add(d.conv_channels() * d.conv_kernel, 1, 0.5f),
             .a_log = add(d.n_value_heads, 2, 0.3f),
             .dt_bias = add(d.n_value_heads, 3, 1.0f),
             .norm = add(d.value_dim, 4, 1.0f)};
  }

  std::vector<float> run(const std::vector<StepRows>& steps) {
    const std::vector<float> inputs = inputs_of(ops_->stride(Act::kProjected), steps, counters_,
                                                /*spoiled_from=*/1 << 20);
    std::ranges::copy(inputs, ops_->act(Act::kProjected));
    std::vector<PassSegment> segments;
    for (const StepRows& s : steps) {
      const Counters& c = counters_[at(s.sequence)];
      segments.push_back({.state = StateId{s.sequence},
                          .position = c.position,
                          .n_rows = s.n_rows,
                          .n_certain = s.n_certain,
                          .n_fold = c.n_fold});
    }
    const cpu::PassOf pass(segments);
    ops_->delta_net(pass, args_);
    move_on(steps, counters_);
    const std::span<float> mixed = cpu::rows_of(*ops_, Act::kMixed, 0, pass.n_rows);
    return {mixed.begin(), mixed.end()};
  }

  const cpu::World& world() const { return world_; }
  const cpu::OpsStorage& ops() const { return *ops_; }
  const DeltaNetArgs& args() const { return args_; }

 private:
  cpu::World world_;
  std::unique_ptr<cpu::OpsStorage> ops_;
  DeltaNetArgs args_;
  std::vector<Counters> counters_ = std::vector<Counters>(kSequences);
};

class DeltaNetTest : public KernelTest {
 protected:
  // The kernel, with sequences that begin as those of a definition.
  struct Net {
    DeltaNetParams params;
    std::vector<DeviceMemory<float>> memory;  // vectors, then three buffers of each sequence
    DeviceMemory<float> gates, read, mixed;   // of the last step, kNetRowsMax rows
    std::vector<Counters> counters = std::vector<Counters>(kSequences);
    size_t width = 0;  // of projected rows

    const DeviceMemory<float>& recurrent(int32_t sequence) const {
      return memory[4 + 3 * at(sequence)];
    }
    const DeviceMemory<float>& conv(int32_t sequence) const { return memory[5 + 3 * at(sequence)]; }
    const DeviceMemory<float>& kept(int32_t sequence) const { return memory[6 + 3 * at(sequence)]; }
  };

  Net make_net(const Definition& definition) {
    const ModelConfig& config = definition.world().config;
    const DeltaNetConfig& d = config.delta_net;
    Net net;
    net.width = definition.ops().stride(Act::kProjected);
    const DeltaNetArgs& args = definition.args();
    for (const VectorRef ref : {args.conv, args.a_log, args.dt_bias, args.norm}) {
      const std::span<const float> v = definition.ops().vector(ref);
      net.memory.push_back(upload(std::vector<float>(v.begin(), v.end())));
    }
    for (const cpu::SequenceState& state : definition.world().states) {
      net.memory.push_back(upload(device_state(d, state.recurrent.span())));
      const std::span<float> conv = state.conv.span();
      net.memory.push_back(upload(std::vector<float>(conv.begin(), conv.end())));
      net.memory.push_back(poisoned<float>(static_cast<int64_t>(state.kept.size())));
    }
    const int64_t layer_floats = int64_t{d.n_value_heads} * head_floats(d.key_dim, d.value_dim);
    net.params = {.n_key_heads = d.n_key_heads,
                  .n_value_heads = d.n_value_heads,
                  .key_dim = d.key_dim,
                  .value_dim = d.value_dim,
                  .conv_kernel = d.conv_kernel,
                  .eps = config.rms_norm_eps,
                  .projected_stride = static_cast<int64_t>(net.width),
                  .taps = net.memory[0].data(),
                  .a_log = net.memory[1].data(),
                  .dt_bias = net.memory[2].data(),
                  .norm = net.memory[3].data(),
                  .recurrent_offset = kLayer * layer_floats,
                  .conv_offset = int64_t{kLayer} * (d.conv_kernel - 1) * d.conv_channels(),
                  .kept_offset =
                      int64_t{kLayer} * kDraftTokensMax * (d.conv_channels() + 2 * d.n_value_heads),
                  .mixed_stride = static_cast<int64_t>(definition.ops().stride(Act::kMixed))};
    return net;
  }

  // [n_layers, heads, value_dim / 32, key_dim, 32] of the CPU in the order of the device.
  static std::vector<float> device_state(const DeltaNetConfig& d, std::span<const float> from) {
    const int64_t head = head_floats(d.key_dim, d.value_dim);
    std::vector<float> to(at(kLayers * d.n_value_heads * head));
    for (int64_t h = 0; h < int64_t{kLayers} * d.n_value_heads; ++h) {
      for (int32_t key = 0; key < d.key_dim; ++key) {
        for (int32_t column = 0; column < d.value_dim; ++column)
          to[at(h * head + state_index(d.key_dim, key, column))] =
              from[at(((h * d.value_dim + column) / 32 * d.key_dim + key) * 32 + column % 32)];
      }
    }
    return to;
  }

  // Mixed rows; those of the pass only. The grid has more rows than the step.
  //   n_surplus  the last steps, with their rows, lie beyond the counts
  std::vector<float> run(Net& net, const std::vector<StepRows>& steps,
                         int32_t spoiled_from = 1 << 20, size_t n_surplus = 0) {
    std::vector<SegmentData> segments;
    int32_t n_rows = 0, n_counted = 0;
    for (const StepRows& s : steps) {
      const Counters& c = net.counters[at(s.sequence)];
      segments.push_back({.first_row = n_rows,
                          .n_rows = s.n_rows,
                          .n_certain = s.n_certain,
                          .n_fold = c.n_fold,
                          .position = c.position,
                          .recurrent = net.recurrent(s.sequence).data(),
                          .conv = net.conv(s.sequence).data(),
                          .kept = net.kept(s.sequence).data()});
      n_rows += s.n_rows;
      if (segments.size() + n_surplus <= steps.size()) n_counted = n_rows;
    }
    auto inputs = inputs_of(net.width, steps, net.counters, spoiled_from);
    inputs.resize(at(kNetRowsMax) * net.width, kNan);
    const auto projected = upload(inputs);
    const auto counts = upload(std::vector<StepCounts>{
        {.n_rows = n_counted, .n_segments = static_cast<int32_t>(segments.size() - n_surplus)}});
    const auto device_segments = upload(segments);
    net.gates = poisoned<float>(int64_t{kNetRowsMax} * 2 * net.params.n_value_heads);
    net.read = poisoned<float>(int64_t{kNetRowsMax} * net.params.value_width());
    net.mixed = poisoned<float>(kNetRowsMax * net.params.mixed_stride);
    DeltaNetParams params = net.params;
    params.step = {.counts = counts.data(), .segments = device_segments.data()};
    params.projected = projected.data();
    params.gates = net.gates.data();
    params.read = net.read.data();
    params.mixed = net.mixed.data();
    delta_net(stream(), params, n_rows + 3, static_cast<int32_t>(segments.size()));
    move_on(steps, net.counters);
    std::vector<float> found = download(net.mixed);
    found.resize(at(n_counted * net.params.mixed_stride));
    return found;
  }

  // From row `first_row` on, of kNetRowsMax.
  bool is_untouched(const DeviceMemory<float>& rows, int32_t first_row) {
    const std::vector<float> found = download(rows);
    const size_t begin = found.size() / at(kNetRowsMax) * at(first_row);
    const auto poison = download(poisoned<float>(static_cast<int64_t>(found.size() - begin)));
    return same_bits(std::span(found).subspan(begin), poison);
  }

  bool same_state(const Net& a, const Net& b, int32_t sequence = 0) {
    const std::vector<float> first = download(a.recurrent(sequence));
    const std::vector<float> second = download(b.recurrent(sequence));
    return same_bits(first, second) &&
           same_bits(download(a.conv(sequence)), download(b.conv(sequence)));
  }
};

TEST_F(DeltaNetTest, AgreesWithTheDefinitionOverStepsThatAcceptSomeDrafts) {
  const std::vector<std::vector<StepRows>> kSteps = {
      {{0, 1, 1, 0}, {1, 3, 3, 0}},   {{1, 6, 2, 3}, {0, 32, 1, 31}}, {{0, 2, 1, 0}},
      {{0, 20, 20, 0}, {1, 0, 0, 0}}, {{1, 1, 1, 0}, {0, 9, 1, 4}},   {{0, 1, 1, 0}}};
  for (const DeltaNetConfig& shape : kNetShapes) {
    Definition definition(shape);
    Net net = make_net(definition);
    for (size_t i = 0; i < kSteps.size(); ++i) {
      const std::vector<float> found = run(net, kSteps[i]), wanted = definition.run(kSteps[i]);
      expect_close(found, wanted, kDeltaNetTolerance,
                   "key_dim " + std::to_string(shape.key_dim) + ", step " + std::to_string(i));
    }
    const DeltaNetConfig& d = definition.world().config.delta_net;
    for (int32_t s = 0; s < kSequences; ++s) {
      const cpu::SequenceState& state = definition.world().states[at(s)];
      expect_close(download(net.recurrent(s)), device_state(d, state.recurrent.span()),
                   kDeltaNetTolerance, "recurrent state");
      EXPECT_TRUE(same_bits(download(net.conv(s)), state.conv.span()));
    }
  }
}

TEST_F(DeltaNetTest, ARowHasTheSameBitsInASegmentOfAnyWidthBesideAnyOther) {
  constexpr int32_t kRows = 12;
  const Definition definition(kNetShapes[2]);
  Net plain = make_net(definition);
  std::vector<float> wanted;
  for (int32_t i = 0; i < kRows; ++i) {
    const std::vector<float> row = run(plain, {{0, 1, 1, 0}});
    wanted.insert(wanted.end(), row.begin(), row.end());
  }
  const auto width = at(plain.params.mixed_stride);
  for (const int32_t n_rows : {1, 2, 7, 8, 9, kRows}) {
    Net net = make_net(definition);
    const std::vector<float> found = run(net, {{1, 3, 3, 0}, {0, n_rows, 1, 0}});
    const auto n = at(n_rows) * width;
    EXPECT_TRUE(same_bits(std::span(found).subspan(3 * width, n), std::span(wanted).first(n)))
        << n_rows << " rows";
  }
}

TEST_F(DeltaNetTest, FoldingGivesTheBitsOfStepping) {
  constexpr int32_t kRows = 10;
  const Definition definition(kNetShapes[0]);
  for (int32_t n_accepted = 0; n_accepted < kRows; ++n_accepted) {
    Net drafted = make_net(definition), plain = make_net(definition);
    run(drafted, {{0, kRows, 1, n_accepted}});
    run(drafted, {{0, 0, 0, 0}});
    run(plain, {{0, 1 + n_accepted, 1 + n_accepted, 0}});
    EXPECT_TRUE(same_state(drafted, plain)) << n_accepted << " accepted";
  }
}

TEST_F(DeltaNetTest, ARowBehindAFoldHasTheBitsThatItHasAfterStepping) {
  const Definition definition(kNetShapes[0]);
  for (const int32_t n_accepted : {1, 2, 9}) {  // fewer than the convolution reads, and more
    Net drafted = make_net(definition), plain = make_net(definition);
    run(drafted, {{0, 10, 1, n_accepted}});
    run(plain, {{0, 1 + n_accepted, 1 + n_accepted, 0}});
    EXPECT_TRUE(same_bits(run(drafted, {{0, 4, 1, 0}}), run(plain, {{0, 4, 1, 0}})))
        << n_accepted << " accepted";
  }
}

TEST_F(DeltaNetTest, RowsAndSegmentsBeyondTheCountsAreNotTouched) {
  const Definition definition(kNetShapes[1]);
  Net net = make_net(definition);
  const Net before = make_net(definition);
  run(net, {{0, 2, 1, 0}, {1, 3, 1, 0}}, /*spoiled_from=*/1 << 20, /*n_surplus=*/1);
  EXPECT_TRUE(is_untouched(net.gates, 2));
  EXPECT_TRUE(is_untouched(net.read, 2));
  EXPECT_TRUE(is_untouched(net.mixed, 2));
  EXPECT_TRUE(same_state(net, before, /*sequence=*/1));
  EXPECT_TRUE(same_bits(download(net.kept(1)), download(before.kept(1))));
}

TEST_F(DeltaNetTest, DraftedRowsThatAreNotFiniteLeaveNoTrace) {
  const Definition definition(kNetShapes[1]);
  Net spoiled = make_net(definition), plain = make_net(definition);
  const std::vector<float> found =
      run(spoiled, {{1, 3, 3, 0}, {0, 6, 1, 2}}, /*spoiled_from=*/kBegin + 3);
  const std::vector<float> wanted = run(plain, {{1, 3, 3, 0}, {0, 3, 3, 0}});
  EXPECT_TRUE(same_bits(std::span(found).first(wanted.size()), wanted));
  run(spoiled, {{0, 0, 0, 0}});
  EXPECT_TRUE(same_state(spoiled, plain));
}

}  // namespace
}  // namespace slip::cuda
