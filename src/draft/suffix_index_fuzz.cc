// Any bytes are a text that comes in bursts: the index finds what a look at every place finds, and
// the same again after it was cleared.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "draft/suffix_index.h"
#include "draft/testing/suffix_search.h"

namespace {

constexpr size_t kTokensMax = 512;

// A token for each byte after the first two: few different ones, so that places agree.
std::vector<slip::TokenId> tokens_of(std::span<const uint8_t> bytes, int32_t alphabet) {
  std::vector<slip::TokenId> tokens;
  for (const uint8_t byte : bytes.first(std::min(bytes.size(), kTokensMax)))
    tokens.push_back(slip::TokenId{byte % alphabet});
  return tokens;
}

void check_all(slip::SuffixIndex& index, std::span<const slip::TokenId> tokens, size_t burst) {
  for (size_t n = 1; n <= tokens.size(); n += burst) {
    const auto text = tokens.first(n);
    index.append(text);
    const auto found = index.find(text);
    const auto wanted = slip::test::find_by_looking(text);
    SLIP_CHECK(found.has_value() == wanted.has_value());
    if (!found) continue;
    SLIP_CHECK(found->position == wanted->position && found->n_tokens == wanted->n_tokens);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const int32_t alphabet = 1 + data[0] % 16;
  const size_t burst = 1 + data[1] % 32;
  const std::vector<slip::TokenId> tokens = tokens_of({data + 2, size - 2}, alphabet);
  slip::SuffixIndex index(kTokensMax);
  check_all(index, tokens, burst);
  index.clear();
  check_all(index, std::span(tokens).subspan(tokens.size() / 2), 1);
  return 0;
}
