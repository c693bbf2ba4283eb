#include "text/json_scanner.h"

#include <nlohmann/json.hpp>

#include "text/ascii.h"

namespace slip {
namespace {

bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }
bool is_hex_digit(char byte) {
  return is_ascii_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

// `number` is a JSON number.
bool is_integer(std::string_view number) {
  if (number.find_first_of("eE") != std::string_view::npos) return false;
  const size_t point = number.find('.');
  return point == std::string_view::npos ||
         number.find_first_not_of('0', point + 1) == std::string_view::npos;
}

}  // namespace

bool JsonScanner::may_end_number(State state) {
  return state == State::kZero || state == State::kInteger || state == State::kFraction ||
         state == State::kExponentDigits;
}

// Empty if the number does not go on with `byte`.
std::optional<JsonScanner::State> JsonScanner::next_in_number(State state, char byte) {
  const bool after_digits =
      state == State::kZero || state == State::kInteger || state == State::kFraction;
  if (is_ascii_digit(byte)) {
    switch (state) {
      case State::kMinus:
        return byte == '0' ? State::kZero : State::kInteger;
      case State::kInteger:
      case State::kFraction:
      case State::kExponentDigits:
        return state;
      case State::kPoint:
        return State::kFraction;
      case State::kExponent:
      case State::kExponentSign:
        return State::kExponentDigits;
      default:
        return std::nullopt;
    }
  }
  if (byte == '.' && after_digits && state != State::kFraction) return State::kPoint;
  if ((byte == 'e' || byte == 'E') && after_digits) return State::kExponent;
  if ((byte == '+' || byte == '-') && state == State::kExponent) return State::kExponentSign;
  return std::nullopt;
}

bool JsonScanner::is_complete() const {
  return open_brackets_.empty() && (state_ == State::kAfterValue || may_end_number(state_));
}

bool JsonScanner::push(char byte) {
  if (state_ >= State::kMinus) {
    if (const auto next = next_in_number(state_, byte)) {
      state_ = *next;
      return true;
    }
    if (!may_end_number(state_)) return false;
    state_ = State::kAfterValue;
  }
  if (state_ >= State::kString) return push_in_string(byte);
  return is_space(byte) || push_in_structure(byte);
}

// Strings and the three literals: what white space may not interrupt.
bool JsonScanner::push_in_string(char byte) {
  if (state_ == State::kLiteral) {
    if (byte != literal_.front()) return false;
    literal_.remove_prefix(1);
    if (literal_.empty()) state_ = State::kAfterValue;
    return true;
  }
  if (state_ == State::kHexDigits) {
    if (--n_hex_digits_ == 0) state_ = State::kString;
    return is_hex_digit(byte);
  }
  if (state_ == State::kEscape) {
    n_hex_digits_ = 4;
    state_ = byte == 'u' ? State::kHexDigits : State::kString;
    return std::string_view("\"\\/bfnrtu").find(byte) != std::string_view::npos;
  }
  if (byte == '\\') {
    state_ = State::kEscape;
  } else if (byte == '"') {
    state_ = is_key_ ? State::kColon : State::kAfterValue;
  }
  return static_cast<unsigned char>(byte) >= 0x20;
}

bool JsonScanner::push_in_structure(char byte) {
  switch (state_) {
    case State::kFirstElement:
      return byte == ']' ? close('[') : begin_value(byte);
    case State::kFirstKey:
      if (byte == '}') return close('{');
      [[fallthrough]];
    case State::kKey:
      is_key_ = true;
      state_ = State::kString;
      return byte == '"';
    case State::kColon:
      state_ = State::kValue;
      return byte == ':';
    case State::kAfterValue:
      return push_after_value(byte);
    default:
      return begin_value(byte);
  }
}

bool JsonScanner::push_after_value(char byte) {
  if (byte == '}') return close('{');
  if (byte == ']') return close('[');
  if (byte != ',' || open_brackets_.empty()) return false;
  state_ = open_brackets_.back() == '{' ? State::kKey : State::kValue;
  return true;
}

bool JsonScanner::begin_value(char byte) {
  constexpr std::string_view kLiterals[] = {"true", "false", "null"};
  if (byte == '{') return open(byte, State::kFirstKey);
  if (byte == '[') return open(byte, State::kFirstElement);
  if (byte == '"') {
    is_key_ = false;
    state_ = State::kString;
    return true;
  }
  for (const std::string_view literal : kLiterals) {
    if (byte != literal.front()) continue;
    literal_ = literal.substr(1);
    state_ = State::kLiteral;
    return true;
  }
  state_ = byte == '-' ? State::kMinus : byte == '0' ? State::kZero : State::kInteger;
  return byte == '-' || is_ascii_digit(byte);
}

bool JsonScanner::open(char bracket, State state) {
  open_brackets_.push_back(bracket);
  state_ = state;
  return open_brackets_.size() <= kJsonTextDepthMax;
}

bool JsonScanner::close(char bracket) {
  if (open_brackets_.empty() || open_brackets_.back() != bracket) return false;
  open_brackets_.pop_back();
  state_ = State::kAfterValue;
  return true;
}

std::string_view without_json_space(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<JsonKind> json_kind(std::string_view text) {
  JsonScanner scanner;
  for (const char byte : text) {
    if (!scanner.push(byte)) return std::nullopt;
  }
  if (!scanner.is_complete()) return std::nullopt;
  const std::string_view value = without_json_space(text);
  switch (value.front()) {
    case 'n':
      return JsonKind::kNull;
    case 't':
    case 'f':
      return JsonKind::kBoolean;
    case '"':
      return JsonKind::kString;
    case '{':
      return JsonKind::kObject;
    case '[':
      return JsonKind::kArray;
    default:
      return is_integer(value) ? JsonKind::kInteger : JsonKind::kNumber;
  }
}

std::vector<JsonMember> json_members(std::string_view object) {
  std::vector<JsonMember> members;
  std::string_view key;
  size_t begin = 1;  // of the key or value that is being read
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < object.size(); ++i) {
    const char byte = object[i];
    if (in_string) {
      if (byte == '\\') ++i;  // what it escapes ends no string
      if (byte == '"') in_string = false;
      continue;
    }
    in_string = byte == '"';
    if (depth == 1 && byte == ':') {
      key = without_json_space(object.substr(begin, i - begin));
      begin = i + 1;
    } else if (depth == 1 && (byte == ',' || byte == '}')) {
      const std::string_view value = without_json_space(object.substr(begin, i - begin));
      if (!value.empty()) members.push_back({key, value});  // empty: the object has no members
      begin = i + 1;
    }
    if (byte == '{' || byte == '[') ++depth;
    if (byte == '}' || byte == ']') --depth;
  }
  return members;
}

std::optional<std::string> json_string_value(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  const auto value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!value.is_string()) return std::nullopt;
  return value.get<std::string>();
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', /*ensure_ascii=*/false,
                                   nlohmann::json::error_handler_t::replace);
}

}  // namespace slip
