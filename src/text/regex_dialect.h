// tokenizer.json spells its regular expressions for Oniguruma; PCRE2 runs them here. This is the
// border between the two dialects.
#pragma once

#include <string>
#include <string_view>

namespace slip {

// `pattern` in PCRE2's words, with the meaning that it has to Oniguruma in its Ruby syntax. Throws
// Error{kUnsupportedModel} with `origin` and the construct for what the two read differently and
// published tokenizers do not need: \w, \b and other escapes, properties that are no general
// category, sets inside sets, options other than (?i:...), intervals without a lower bound or with
// a suffix. What is wrong to both is left for the compiler of the pattern to find.
//   pattern  valid UTF-8
std::string to_pcre2(std::string_view pattern, const std::string& origin);

}  // namespace slip
