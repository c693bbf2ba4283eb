// Token ids to text as they arrive: a character is given out when its last byte is there.
#pragma once

#include <string>

#include "base/ids.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace slip {

class Detokenizer {
 public:
  // `tokenizer` must outlive this object.
  //   skip_special  whether special tokens give no text
  explicit Detokenizer(const Tokenizer& tokenizer, bool skip_special);

  // The text that `id` completes: whole characters only, possibly none. Bytes that can never
  // complete a character become U+FFFD. All pushes and finish() together equal Tokenizer::decode()
  // of all ids.
  std::string push(TokenId id);

  // What an unfinished character at the end becomes: U+FFFD or nothing. Afterwards the object is as
  // new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  Utf8Repair repair_;
};

}  // namespace slip
