// Stored states do not depend on the order in which a kernel keeps its cache, and say what they
// hold.
#include "backend/cpu/state_body.h"

#include "backend/cpu/cpu_runner.h"
#include "backend/testing/contract_driver.h"
#include "backend/testing/random_model.h"
#include "base/testing/expect_error.h"

namespace slip::cpu {
namespace {

constexpr int32_t kTokens = 150;  // three blocks, the last one partly

class StateBody : public testing::Test {
 protected:
  std::unique_ptr<Runner> runner(const std::string& kernels, DType kv_type) const {
    return load_runner(file_, {.n_threads = 1,
                               .context_tokens_max = 512,
                               .states_max = 2,
                               .kernels = kernels,
                               .kv_type = kv_type});
  }

  static contract::Bytes read_and_save(Runner& runner) {
    contract::Driver driver(runner, {.keeps_draft_history = runner.info().has_draft_head});
    contract::Tokens tokens;
    for (int32_t i = 0; i < kTokens; ++i) tokens.push_back(TokenId{1 + i % 50});
    driver.read(tokens, 32);
    return driver.save();
  }

 private:
  RandomModelFolder folder_{RandomModelOptions{}};
  ModelFile file_ = ModelFile::open(folder_.path());
};

TEST_F(StateBody, ComesBackFromAnyOtherOrderOfTheCache) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const auto definition = runner("reference", type);
    const auto best = runner("", type);
    const contract::Bytes written = read_and_save(*definition);
    const std::optional<StateId> restored = best->load(written);
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(best->save(*restored), written) << name(type);
  }
}

TEST_F(StateBody, RefusesACacheOfAnotherType) {
  const auto half = runner("", DType::kBF16);
  const auto whole = runner("", DType::kF32);
  const contract::Bytes written = read_and_save(*half);
  EXPECT_TRUE(test::fails_with(ErrorCode::kCorruptFile, "keys and values in BF16, expected F32",
                               [&] { whole->load(written); }));
}

TEST_F(StateBody, SixteenBitsTakeHalfTheCache) {
  const auto half = runner("", DType::kBF16);
  const auto whole = runner("", DType::kF32);
  EXPECT_EQ(2 * half->info().cache_bytes_per_token, whole->info().cache_bytes_per_token);
  EXPECT_EQ(half->info().kv_type, DType::kBF16);
}

}  // namespace
}  // namespace slip::cpu
