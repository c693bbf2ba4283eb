// The alphabet of byte-level BPE: every byte has one printable character. Printable Latin-1 bytes
// stand for themselves, the others for U+0100 and up, in order. Source: GPT-2's bytes_to_unicode.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace slip {

// The symbol of `byte`, in UTF-8.
std::string byte_symbol(unsigned char byte);

// The bytes that the symbols in `spelling`, valid UTF-8, stand for; nothing if a character is no
// symbol.
std::optional<std::string> bytes_of_symbols(std::string_view spelling);

}  // namespace slip
