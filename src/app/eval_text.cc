#include "app/eval_text.h"

#include <algorithm>

#include "backend/batch.h"
#include "base/error.h"
#include "text/unicode.h"

namespace slip {

namespace {

// `value` of option `name`, or `fallback` for 0. Throws Error{kInvalidArgument}.
int32_t resolve(const char* name, int32_t value, int32_t fallback, int32_t min, int32_t max) {
  if (value == 0) return fallback;
  if (value >= min && value <= max) return value;
  throw Error(ErrorCode::kInvalidArgument, std::string(name) + ": found " + std::to_string(value) +
                                               ", wanted " + std::to_string(min) + " to " +
                                               std::to_string(max));
}

// A tokenizer would put other characters in the place of what is no UTF-8, and those would be
// scored.
void require_text(std::string_view text, const std::string& origin) {
  if (text.size() > kEvalBytesMax) {
    throw Error(ErrorCode::kInvalidArgument, origin + ": found " + std::to_string(text.size()) +
                                                 " bytes, wanted at most " +
                                                 std::to_string(kEvalBytesMax));
  }
  if (repair_utf8(text) != text) {
    throw Error(ErrorCode::kInvalidArgument,
                origin + ": found bytes that are no UTF-8, wanted text");
  }
}

}  // namespace

std::vector<TokenId> encode_judged(const Tokenizer& tokenizer, std::string_view text) {
  return tokenizer.encode(text, AddedTokens::kIgnore, Frame::kFromFile);
}

EvalPlan EvalText::plan() const {
  return {
      .text = tokens,
      .windows = plan_windows(static_cast<int32_t>(tokens.size()), window_tokens, stride_tokens),
      .n_rows = kSegmentRowsMax};
}

EvalText read_eval_text(std::string_view text, const std::string& origin,
                        const Tokenizer& tokenizer, const ModelConfig& config,
                        const WindowOptions& options) {
  require_text(text, origin);
  EvalText result{.tokens = encode_judged(tokenizer, text)};
  if (result.tokens.size() < 2 || result.tokens.size() > INT32_MAX / 2) {
    throw Error(ErrorCode::kInvalidArgument, origin + ": found " +
                                                 std::to_string(result.tokens.size()) +
                                                 " tokens, wanted at least 2 and less than 2^30");
  }
  const TokenId largest = *std::ranges::max_element(result.tokens);
  if (index(largest) >= static_cast<size_t>(config.vocab_size)) {
    throw Error(ErrorCode::kCorruptFile,
                "tokenizer.json: found token " + std::to_string(index(largest)) +
                    ", but the model has " + std::to_string(config.vocab_size));
  }
  const int32_t longest = config.context_tokens_max;
  if (longest < 2) {
    throw Error(ErrorCode::kInvalidArgument,
                "config.json: found a context of one token, wanted at least two");
  }
  result.window_tokens = resolve("--window", options.window_tokens,
                                 std::min(kWindowTokensDefault, longest), 2, longest);
  result.stride_tokens = resolve("--stride", options.stride_tokens, result.window_tokens / 2, 1,
                                 result.window_tokens - 1);
  return result;
}

}  // namespace slip
