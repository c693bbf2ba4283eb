// Routers against softmax in double, experts against sums in double.
#include "backend/cuda/kernels/experts/experts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backend/cuda/kernel_fixture.h"

namespace slip::cuda {
namespace {

struct Routed {
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

class ExpertsTest : public KernelTest {
 protected:
  Routed run_route(const std::vector<float>& logits, int32_t n_experts, int32_t n_per_token,
                   bool renormalise = true) {
    const auto n_rows = static_cast<int32_t>(logits.size()) / n_experts;
    const auto device_logits = upload(logits);
    const auto count = upload(std::vector<int32_t>{n_rows});
    const auto chosen = poisoned<int32_t>((n_rows + 1) * n_per_token);
    const auto weights = poisoned<float>((n_rows + 1) * n_per_token);
    route(stream(),
          {.n_rows = count.data(),
           .logits = device_logits.data(),
           .n_experts = n_experts,
           .n_per_token = n_per_token,
           .renormalise = renormalise,
           .chosen = chosen.data(),
           .weights = weights.data()},
          n_rows + 1);
    return {download(chosen), download(weights)};
  }
};

// The definition for one row.
Routed defined_route(std::span<const float> logits, int32_t n_per_token, bool renormalise) {
  std::vector<double> p(logits.begin(), logits.end());
  const double highest = *std::ranges::max_element(p);
  for (double& v : p) v = std::exp(v - highest);
  const double total = std::accumulate(p.begin(), p.end(), 0.0);
  std::vector<int32_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int32_t a, int32_t b) { return p[at(a)] > p[at(b)]; });
  order.resize(at(n_per_token));
  std::ranges::sort(order);
  double chosen = 0;
  for (const int32_t expert : order) chosen += p[at(expert)];
  Routed routed{order, {}};
  for (const int32_t expert : order)
    routed.weights.push_back(static_cast<float>(p[at(expert)] / (renormalise ? chosen : total)));
  return routed;
}

TEST_F(ExpertsTest, ARouterChoosesTheLikeliestInAscendingOrderAndWeighsThem) {
  struct Case {
    int32_t n_experts, n_per_token;
    bool renormalise;
  };
  for (const Case& c : {Case{1, 1, true}, {5, 2, true}, {64, 8, false}, {300, 32, true}}) {
    constexpr int32_t kRows = 4;
    const std::vector<float> logits = random(kRows * c.n_experts, 1, 2.0f);
    const Routed found = run_route(logits, c.n_experts, c.n_per_token, c.renormalise);
    Routed wanted;
    for (int32_t row = 0; row < kRows; ++row) {
      const Routed one =
          defined_route(std::span(logits).subspan(at(row * c.n_experts), at(c.n_experts)),
                        c.n_per_token, c.renormalise);
      wanted.chosen.insert(wanted.chosen.end(), one.chosen.begin(), one.chosen.end());
      wanted.weights.insert(wanted.weights.end(), one.weights.begin(), one.weights.end());
    }
    wanted.chosen.insert(wanted.chosen.end(), at(c.n_per_token), -1);  // beyond the count
    wanted.weights.insert(wanted.weights.end(), at(c.n_per_token), kNan);
    EXPECT_EQ(found.chosen, wanted.chosen) << c.n_experts;
    // An exponential of a rounded difference, a sum of up to 300 of them, a quotient.
    expect_close(found.weights, wanted.weights, 1e-6, "weights of " + std::to_string(c.n_experts));
  }
}

TEST_F(ExpertsTest, ARouterTakesTheLowerIndexAmongEquals) {
  std::vector<float> logits(70, 0.0f);
  logits[66] = 1;
  const Routed found = run_route(logits, 70, 3);
  EXPECT_EQ((std::vector<int32_t>{found.chosen.begin(), found.chosen.begin() + 3}),
            (std::vector<int32_t>{0, 1, 66}));
}

TEST_F(ExpertsTest, ARowThatIsNotFiniteChoosesDifferentExperts) {
  std::vector<float> logits(40, kNan);
  std::fill(logits.begin() + 20, logits.end(), std::numeric_limits<float>::infinity());
  for (const int32_t n_experts : {40, 20}) {  // one row of both, or one of each
    const Routed found = run_route(logits, n_experts, 8);
    for (int32_t row = 0; row < 40 / n_experts; ++row) {
      std::vector<int32_t> chosen(found.chosen.begin() + 8 * row,
                                  found.chosen.begin() + 8 * (row + 1));
      for (size_t i = 0; i < chosen.size(); ++i) {
        EXPECT_TRUE(chosen[i] >= 0 && chosen[i] < n_experts);
        EXPECT_TRUE(i == 0 || chosen[i] > chosen[i - 1]);
      }
    }
  }
}

// Random F32 networks on the host and on the device.
struct Network {
  int32_t width, size;
  std::vector<float> gate, up, down;

  Network(int32_t width_of_x, int32_t n_hidden, uint64_t seed)
      : width(width_of_x),
        size(n_hidden),
        gate(random(width * size, seed, 0.2f)),
        up(random(width * size, seed + 1, 0.2f)),
        down(random(width * size, seed + 2, 0.2f)) {}

  static double dot(const std::vector<float>& m, int32_t row, const auto& x) {
    double sum = 0;
    for (size_t i = 0; i < x.size(); ++i) sum += double{m[at(row) * x.size() + i]} * double{x[i]};
    return sum;
  }
  std::vector<double> run(std::span<const float> x) const {
    std::vector<double> hidden, y;
    for (int32_t i = 0; i < size; ++i) {
      const double g = dot(gate, i, x);
      hidden.push_back(g / (1 + std::exp(-g)) * dot(up, i, x));
    }
    for (int32_t i = 0; i < width; ++i) y.push_back(dot(down, i, hidden));
    return y;
  }
};

DeviceMatrix matrix(const DeviceMemory<float>& data, int32_t n_out, int32_t n_in) {
  return {.n_out = n_out, .n_in = n_in, .data = reinterpret_cast<const std::byte*>(data.data())};
}

TEST_F(ExpertsTest, ARowIsTheWeightedSumOfItsExpertsAndTheSharedOne) {
  constexpr int32_t kWidth = 40, kRows = 2, kExperts = 3, kPerToken = 2;
  std::vector<Network> networks;
  std::vector<DeviceMemory<float>> memory;
  std::vector<ExpertMatrices> matrices;
  for (int32_t e = 0; e <= kExperts; ++e) {
    const Network& n = networks.emplace_back(kWidth, e == kExperts ? 24 : 16, at(10 * e + 1));
    for (const auto* values : {&n.gate, &n.up, &n.down}) memory.push_back(upload(*values));
    const size_t first = memory.size() - 3;
    matrices.push_back({matrix(memory[first], n.size, kWidth),
                        matrix(memory[first + 1], n.size, kWidth),
                        matrix(memory[first + 2], kWidth, n.size)});
  }
  const std::vector<float> x = random(kRows * kWidth, 90), before = random(3 * kWidth, 91);
  const std::vector<int32_t> chosen = {0, 2, 1, 2};
  const std::vector<float> weights = {0.25f, 0.75f, 0.5f, 0.5f}, shared_logits = {0.3f, -2.0f};
  const auto device_matrices = upload(matrices);
  const auto device_x = upload(x), residual = upload(before), device_weights = upload(weights),
             device_shared = upload(shared_logits);
  const auto device_chosen = upload(chosen), count = upload(std::vector<int32_t>{kRows});
  const auto hidden = poisoned<float>(kRows * (kPerToken + 1) * 24);
  experts_plain(stream(),
                {.n_rows = count.data(),
                 .experts = device_matrices.data(),
                 .n_experts = kExperts,
                 .n_per_token = kPerToken,
                 .chosen = device_chosen.data(),
                 .weights = device_weights.data(),
                 .shared_logits = device_shared.data(),
                 .x = device_x.data(),
                 .width = kWidth,
                 .hidden = hidden.data(),
                 .hidden_width = 24,
                 .residual = residual.data()},
                kRows + 1);
  std::vector<float> wanted = before;  // the third row is beyond the count
  for (int32_t row = 0; row < kRows; ++row) {
    const auto input = std::span(x).subspan(at(row * kWidth), at(kWidth));
    std::vector<double> sum(at(kWidth));
    const auto add = [&](const Network& network, double weight) {
      const std::vector<double> y = network.run(input);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += weight * y[i];
    };
    for (int32_t slot = row * kPerToken; slot < (row + 1) * kPerToken; ++slot)
      add(networks[at(chosen[at(slot)])], double{weights[at(slot)]});
    add(networks.back(), 1 / (1 + std::exp(-double{shared_logits[at(row)]})));
    for (size_t i = 0; i < sum.size(); ++i)
      wanted[at(row * kWidth) + i] += static_cast<float>(sum[i]);
  }
  // Two products of up to 40 terms in float, one inside the other.
  expect_close(download(residual), wanted, 2e-6, "experts");
}

}  // namespace
}  // namespace slip::cuda
