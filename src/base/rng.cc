#include "base/rng.h"

#include <cmath>
#include <numbers>

namespace slip {
namespace {

constexpr int kRounds = 10;
constexpr std::array<uint32_t, 2> kMultiplier = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<uint32_t, 2> kKeyStep = {0x9E3779B9, 0xBB67AE85};  // golden ratio, sqrt(3) - 1

constexpr uint32_t low(uint64_t x) { return static_cast<uint32_t>(x); }
constexpr uint32_t high(uint64_t x) { return static_cast<uint32_t>(x >> 32); }

std::array<uint32_t, 4> block(uint64_t seed, uint64_t position, Draw purpose) {
  return philox({low(position), high(position), static_cast<uint32_t>(purpose), 0},
                {low(seed), high(seed)});
}

}  // namespace

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier[0]} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier[1]} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key[0] += kKeyStep[0];
    key[1] += kKeyStep[1];
  }
  return counter;
}

float uniform(uint64_t seed, uint64_t position, Draw purpose) {
  return static_cast<float>(block(seed, position, purpose)[0] >> 8) * 0x1p-24f;
}

double fine_uniform(uint64_t seed, uint64_t position, Draw purpose) {
  return static_cast<double>(derived_seed(seed, position, purpose) >> 11) * 0x1p-53;
}

uint64_t derived_seed(uint64_t seed, uint64_t position, Draw purpose) {
  const auto words = block(seed, position, purpose);
  return uint64_t{words[1]} << 32 | words[2];
}

ExponentialNoise::ExponentialNoise(uint64_t seed, uint64_t position, Draw purpose)
    : key_{low(seed), high(seed)},
      counter_{low(position), high(position), static_cast<uint32_t>(purpose)},
      words_(philox({counter_[0], counter_[1], counter_[2], 0}, key_)) {}

double ExponentialNoise::operator()(uint32_t index) {
  const uint32_t wanted = index / 4;
  if (wanted != words_block_) {
    words_ = philox({counter_[0], counter_[1], counter_[2], wanted}, key_);
    words_block_ = wanted;
  }
  return -std::log((words_[index % 4] + 0.5) * 0x1p-32);
}

float normal(uint64_t seed, uint64_t position, Draw purpose) {
  const auto words = block(seed, position, purpose);
  // Word 0 is uniform()'s. The radius needs a number in (0, 1], hence the + 1.
  const double radius = std::sqrt(-2.0 * std::log((words[1] + 1.0) * 0x1p-32));
  const double angle = 2.0 * std::numbers::pi * (words[2] * 0x1p-32);
  return static_cast<float>(radius * std::cos(angle));
}

}  // namespace slip
