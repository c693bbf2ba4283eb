#include "text/byte_symbols.h"

#include <array>
#include <cstdint>

#include "text/unicode.h"

namespace slip {
namespace {

constexpr char32_t kFirstShifted = 0x100;
constexpr size_t kSymbolsEnd = 0x144;  // 68 bytes are shifted

constexpr bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<char32_t, 256> symbol{};
  std::array<int16_t, kSymbolsEnd> byte{};  // by symbol; -1: no symbol
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  char32_t next_shifted = kFirstShifted;
  for (int byte = 0; byte < 256; ++byte) {
    const char32_t symbol = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next_shifted++;
    alphabet.symbol[static_cast<size_t>(byte)] = symbol;
    alphabet.byte[symbol] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

std::string byte_symbol(unsigned char byte) {
  std::string symbol;
  append_utf8(symbol, kAlphabet.symbol[byte]);
  return symbol;
}

std::optional<std::string> bytes_of_symbols(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const CodePoint c = first_code_point(spelling);
    if (c.value >= kSymbolsEnd || kAlphabet.byte[c.value] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(kAlphabet.byte[c.value]));
    spelling.remove_prefix(static_cast<size_t>(c.n_bytes));
  }
  return bytes;
}

}  // namespace slip
