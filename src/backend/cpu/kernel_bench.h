// Single operations in the shapes of real models, on synthetic data, for measuring: what a step
// runs, without the rest of the model. Every run takes other buffers, together larger than any
// cache.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "tensor/quant.h"

namespace slip::cpu {

// How to run it; as RunnerOptions has them.
struct BenchDevice {
  int n_threads = 0;
  std::string kernels;
};

struct KernelBench {
  std::string device;  // "cpu (amx, 2 threads)"
  std::string kernel;  // what the table chose for this shape
  int32_t n_rows_max;  // of a run: a segment never straddles a change of splits
  std::function<void(int32_t n_rows)> prepare = [](int32_t) {};  // before a run, not measured
  std::function<void(int32_t n_rows)> run;
  std::function<double(int32_t n_rows)> bytes, flops;  // that a run has to read, and to do
  std::function<double()> measure_flops;               // of the matrix unit, per second, right now
};

struct AttentionBenchOptions {
  int32_t n_heads = 0, n_kv_heads = 0, head_dim = 0;
  int32_t context_tokens = 0;   // in the cache before the rows
  int32_t capacity_tokens = 0;  // that the cache has room for; at least context + 32
  DType kv_type = DType::kBF16;
  std::string kernel = "on";  // as LaneOption::use
  int32_t n_layers = 0;       // to go round; 0: as many as a gibibyte of context holds, at most 64
};

// Attention of one layer: rotation, append, attend, merge. Throws Error{kUnsupportedModel} for a
// head size that no kernel can, Error{kInvalidArgument} for kernels that are not there,
// Error{kInsufficientMemory}.
KernelBench attention_bench(const BenchDevice& device, const AttentionBenchOptions& options);

struct ProductBenchOptions {
  int32_t n_out = 0, n_in = 0;
  WeightFormat format = WeightFormat::kAffine8;
  std::string kernel = "on";  // as LaneOption::use
};

// y = W x of one matrix. Throws Error{kUnsupportedModel} for a width that the format cannot divide;
// otherwise as attention_bench().
KernelBench product_bench(const BenchDevice& device, const ProductBenchOptions& options);

}  // namespace slip::cpu
