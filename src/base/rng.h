// Randomness as a pure function: asking twice gives the same answer, on every machine and in any
// order of calls. Source: Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1,
// 2, 3", Philox 4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace slip {

// Ten rounds of Philox on a 128-bit counter.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// What a number is drawn for. Two purposes never share a number at the same (seed, position).
enum class Draw : uint32_t { kWeight, kTest, kToken, kDraft, kAccept, kStep };

// Uniform in [0, 1), a multiple of 2^-24.
float uniform(uint64_t seed, uint64_t position, Draw purpose);

// Uniform in [0, 1), a multiple of 2^-53.
double fine_uniform(uint64_t seed, uint64_t position, Draw purpose);

// 64 random bits: the seed of another family of numbers.
uint64_t derived_seed(uint64_t seed, uint64_t position, Draw purpose);

// Exponential with mean 1, one for each index; asking in order of the index is four times as cheap.
class ExponentialNoise {
 public:
  ExponentialNoise(uint64_t seed, uint64_t position, Draw purpose);
  double operator()(uint32_t index);

 private:
  std::array<uint32_t, 2> key_;
  std::array<uint32_t, 3> counter_;  // its first three words
  std::array<uint32_t, 4> words_{};
  uint32_t words_block_ = 0;  // words_ are for indices [4 * this, + 4)
};

// Standard normal by Box and Muller from the same counter.
float normal(uint64_t seed, uint64_t position, Draw purpose);

}  // namespace slip
