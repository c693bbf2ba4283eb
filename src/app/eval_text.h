// A text as the tokens and windows it is judged in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/evaluation.h"
#include "app/options.h"
#include "model/config.h"
#include "text/tokenizer.h"

namespace slip {

struct EvalText {
  std::vector<TokenId> tokens;
  int32_t window_tokens = 0;
  int32_t stride_tokens = 0;

  EvalPlan plan() const;  // points at `tokens`
};

// The tokens that a model is judged by: control tokens spelled out in the text are text, and what
// the tokenizer puts around every prompt is there.
std::vector<TokenId> encode_judged(const Tokenizer& tokenizer, std::string_view text);

// More would take hours on any machine this runs on.
inline constexpr size_t kEvalBytesMax = size_t{32} << 20;

// Throws Error{kInvalidArgument} naming `origin` for a text that is no UTF-8, has more than
// kEvalBytesMax bytes or fewer than two tokens, or the option that does not fit the model;
// Error{kCorruptFile} where the tokenizer knows more tokens than the model.
EvalText read_eval_text(std::string_view text, const std::string& origin,
                        const Tokenizer& tokenizer, const ModelConfig& config,
                        const WindowOptions& options);

}  // namespace slip
