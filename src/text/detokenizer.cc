#include "text/detokenizer.h"

namespace slip {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool skip_special)
    : tokenizer_(&tokenizer), skip_special_(skip_special) {}

std::string Detokenizer::push(TokenId id) {
  std::string text;
  if (!(skip_special_ && tokenizer_->is_special(id))) repair_.push(tokenizer_->bytes(id), text);
  return text;
}

std::string Detokenizer::finish() {
  std::string text;
  repair_.finish(text);
  return text;
}

}  // namespace slip
