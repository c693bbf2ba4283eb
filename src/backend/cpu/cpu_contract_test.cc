// The CPU backend passes the contract, with every table of kernels that this machine can run and
// with the definitions.
#include <array>
#include <string>

#include "backend/cpu/cpu_runner.h"
#include "backend/testing/contract_models.h"
#include "backend/testing/runner_contract.h"

namespace slip::contract {
namespace {

ContractCase cpu_case(const std::string& name, const RandomModelOptions& model,
                      const std::string& kernels, DType kv_type = DType::kBF16) {
  return make_case(name, model, [=](const ModelFile& file, RunnerOptions options) {
    options.kernels = kernels;
    options.kv_type = kv_type;
    return cpu::load_runner(file, options);
  });
}

const std::array kCases = {cpu_case("grouped_best", grouped_model(), ""),
                           cpu_case("grouped_baseline", grouped_model(), "baseline"),
// The definitions are slow under sanitizers, and compared with the others elsewhere too.
#if !defined(SLIP_SANITIZED)
                           cpu_case("grouped_reference", grouped_model(), "reference"),
#endif
                           cpu_case("grouped_f32", grouped_model(), "", DType::kF32),
                           cpu_case("tied_f16", tied_model(), "", DType::kF16),
                           cpu_case("tied_best", tied_model(), ""),
                           cpu_case("tied_baseline", tied_model(), "baseline"),
                           cpu_case("experts_best", experts_model(), ""),
                           cpu_case("experts_baseline", experts_model(), "baseline")};

INSTANTIATE_TEST_SUITE_P(Cpu, RunnerContract, testing::ValuesIn(kCases), case_name);
INSTANTIATE_TEST_SUITE_P(Cpu, RunnerDraftContract, testing::ValuesIn(kCases), case_name);

}  // namespace
}  // namespace slip::contract
