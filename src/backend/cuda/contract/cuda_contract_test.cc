// The CUDA backend passes the contract. For GPUs alone: in the emulation it would take hours.
#include <array>
#include <string>

#include "backend/cuda/cuda_runner.h"
#include "backend/cuda/kernel_fixture.h"
#include "backend/testing/contract_models.h"
#include "backend/testing/runner_contract.h"

namespace slip::contract {
namespace {

ContractCase gpu_case(const std::string& name, const RandomModelOptions& model, DType kv_type) {
  ContractCase made = make_case(name, model, [=](const ModelFile& file, RunnerOptions options) {
    options.kv_type = kv_type;
    return cuda::load_runner(file, options);
  });
  made.why_skipped = cuda::why_no_device;
  return made;
}

const std::array kCases = {gpu_case("grouped", grouped_model(), DType::kBF16),
                           gpu_case("grouped_f32", grouped_model(), DType::kF32),
                           gpu_case("tied_f16", tied_model(), DType::kF16),
                           gpu_case("experts", experts_model(), DType::kBF16)};

INSTANTIATE_TEST_SUITE_P(Cuda, RunnerContract, testing::ValuesIn(kCases), case_name);
INSTANTIATE_TEST_SUITE_P(Cuda, RunnerDraftContract, testing::ValuesIn(kCases), case_name);

}  // namespace
}  // namespace slip::contract
