// The normalization forms of Unicode Standard Annex 15.
#pragma once

#include <string>
#include <string_view>

namespace slip {

enum class NormalForm { kNfc, kNfd, kNfkc, kNfkd };

// `text`, valid UTF-8, in `form`. Linear but for sorting runs of combining marks.
std::string normalize(std::string_view text, NormalForm form);

// The form of a text that is brought into `first` and then into `second`.
NormalForm combined(NormalForm first, NormalForm second);

// Whether text may be cut in front of `text`, which is not empty and is valid UTF-8, so that the
// normalized halves are the normalized whole: its first character neither moves nor combines with
// what is in front of it. False for a few characters that could be cut off, too.
bool is_normalized_apart(std::string_view text, NormalForm form);

}  // namespace slip
