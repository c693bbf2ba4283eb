// Answers to one request, given several times: all have the same tokens, only the times differ.
#pragma once

#include <span>

#include "app/answer.h"

namespace slip {

// The answer whose `figure` is in the middle, of two in the middle the one with the lower. A whole
// one, since drafts chosen by measured time differ from run to run: numbers of different runs would
// not add up.
//   answers  at least one
const Answer& median_answer(std::span<const Answer> answers,
                            double (*figure)(const SequenceStats&) = decode_tokens_per_second);

// The first answer with other tokens, null where there is none.
const Answer* maybe_other(std::span<const Answer> answers, std::span<const TokenId> tokens);

}  // namespace slip
