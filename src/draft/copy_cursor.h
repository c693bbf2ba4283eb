// Follows an answer that copies earlier text with edits. The cursor pairs a place in the source
// with a place in the answer; where the two part, it waits for the answer to come back to the
// source a few tokens later, and remembers what was replaced by what, so that the next occurrence
// is copied with the replacement already made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"

namespace slip {

// A place in the source that the answer is believed to stand at.
struct CopyPlace {
  int32_t source = 0;  // next token to copy
  int32_t output = 0;  // its counterpart in the answer: the end of the text, or the beginning of a
                       // replacement that is only partly written. 0: no place
  int32_t n_agreeing = 0;  // tokens that agreed on the way here
};

class CopyCursor {
 public:
  // How far the two texts may part before the cursor gives up, in tokens of either.
  static constexpr int32_t kPartedTokensMax = 48;

  // Takes note of what `tokens` gained since the last call. `tokens` only grows between calls.
  void follow(std::span<const TokenId> tokens);

  // Where the copy goes on: at home, or at the place soon after it that agrees best with the last
  // tokens. Nothing where the texts have parted and no such place is near.
  std::optional<CopyPlace> resume(std::span<const TokenId> tokens) const;

  // Copies from `place`, replacing what was replaced before. The cursor moves there if the answer
  // follows, which the next follow() sees.
  //   n_max  tokens to write at most
  //   out    emptied first
  void copy(std::span<const TokenId> tokens, const CopyPlace& place, int32_t n_max,
            std::vector<TokenId>& out);

 private:
  static constexpr int32_t kCredibleTokens = 8;
  static constexpr int32_t kEditTokensMax = 12;
  static constexpr size_t kEditsMax = 16;

  // tokens[old_begin, + n_old) was replaced by tokens[new_begin, + n_new). Both have at least one
  // token and differ in the first.
  struct Edit {
    int32_t old_begin = 0, n_old = 0;
    int32_t new_begin = 0, n_new = 0;
  };

  // The place moved forward while the answer follows the source.
  CopyPlace advanced(CopyPlace place, std::span<const TokenId> tokens) const;
  // The latest edit whose old text stands at `source` and whose new text agrees with the answer
  // from `output` on, as far as there is an answer.
  const Edit* edit_at(int32_t source, int32_t output, std::span<const TokenId> tokens) const;
  void remember(const CopyPlace& before, const CopyPlace& after, std::span<const TokenId> tokens);

  CopyPlace home_;
  CopyPlace trial_;  // where the last copy began; becomes home once the answer follows it
  std::array<Edit, kEditsMax> edits_;
  size_t n_edits_ = 0;  // ever remembered; the latest kEditsMax are kept
};

}  // namespace slip
