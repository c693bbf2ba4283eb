// The steps of a tokenizer.json around its model: what is done to the text before, and to the ids
// after.
#pragma once

#include "text/json_section.h"
#include "text/tokenizer_json.h"

namespace slip {

inline constexpr size_t kSplitsMax = 16;

// Each reads one object of the file into its fields of `spec`, and throws Error{kCorruptFile} or
// Error{kUnsupportedModel} with the place.
void read_normalizer(const Section& section, TokenizerSpec& spec);
void read_pre_tokenizer(const Section& section, TokenizerSpec& spec);
void read_post_processor(const Section& section, TokenizerSpec& spec);  // after all tokens are read
void read_decoder(const Section& section);

}  // namespace slip
