// JSON texts (RFC 8259) that are kept as they are written: where one ends and whether it is one.
// A number keeps its digits, which a parsed value could not promise. Strings may hold any bytes
// from 0x20 on; whether those are UTF-8 is the caller's matter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slip {

inline constexpr size_t kJsonTextDepthMax = 64;  // of objects and arrays in one another

// Takes one JSON value byte by byte.
class JsonScanner {
 public:
  // False if no JSON text goes on like this, or not within kJsonTextDepthMax; then the scanner is
  // of no further use.
  bool push(char byte);

  // Whether what was pushed is one whole value and white space around it. A number may still grow.
  bool is_complete() const;

 private:
  enum class State : uint8_t {
    kValue,         // of an array or object, or the whole
    kFirstElement,  // or the end of the array
    kKey,
    kFirstKey,  // or the end of the object
    kColon,
    kAfterValue,
    kString,
    kEscape,
    kHexDigits,
    kLiteral,
    kMinus,
    kZero,
    kInteger,
    kPoint,
    kFraction,
    kExponent,
    kExponentSign,
    kExponentDigits,
  };

  static bool may_end_number(State state);
  static std::optional<State> next_in_number(State state, char byte);
  bool push_in_string(char byte);
  bool push_in_structure(char byte);
  bool push_after_value(char byte);
  bool begin_value(char byte);
  bool open(char bracket, State state);
  bool close(char bracket);

  State state_ = State::kValue;
  bool is_key_ = false;        // of the string that is open
  int n_hex_digits_ = 0;       // that an escape still lacks
  std::string_view literal_;   // what true, false or null still lacks
  std::string open_brackets_;  // { and [, the innermost last
};

// `text` without the white space that JSON allows around a value.
std::string_view without_json_space(std::string_view text);

// One value; numbers are told apart as JSON Schema does: 5 and 5.0 are integers.
enum class JsonKind { kNull, kBoolean, kInteger, kNumber, kString, kObject, kArray };

// What `text` is, white space around it allowed; empty if it is not one JSON value.
std::optional<JsonKind> json_kind(std::string_view text);

struct JsonMember {
  std::string_view key;    // as written, in quotes
  std::string_view value;  // as written, no white space around it
};

// The members of `object` in order, views into it. `object` is a JSON object without white space
// around it, as a scanner found it.
std::vector<JsonMember> json_members(std::string_view object);

// What a JSON string stands for; empty if `text` is not one or not valid Unicode.
std::optional<std::string> json_string_value(std::string_view text);

// `text` as a JSON string: only quotes, backslashes and control characters are escaped. What is not
// UTF-8 becomes U+FFFD.
std::string json_string(std::string_view text);

}  // namespace slip
