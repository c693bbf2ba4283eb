#include "text/jinja_operators.h"

#include <array>

#include "text/jinja_operations.h"

namespace slip::jinja {
namespace {

template <class Function>
struct Operator {
  std::string_view spelling;
  Function function;
};

constexpr std::array kSums = {Operator<BinaryFunction>{"+", add},
                              Operator<BinaryFunction>{"-", subtract}};
constexpr std::array kProducts = {
    Operator<BinaryFunction>{"*", multiply}, Operator<BinaryFunction>{"/", divide},
    Operator<BinaryFunction>{"//", floor_divide}, Operator<BinaryFunction>{"%", modulo}};

using Holds = Comparison::Holds;
constexpr std::array kComparisons = {
    Operator<Holds>{"==", are_equal},
    Operator<Holds>{"!=",
                    [](Run& run, const Value& a, const Value& b) { return !are_equal(run, a, b); }},
    Operator<Holds>{
        "<", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) < 0; }},
    Operator<Holds>{
        "<=", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) <= 0; }},
    Operator<Holds>{
        ">", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) > 0; }},
    Operator<Holds>{
        ">=", [](Run& run, const Value& a, const Value& b) { return compare(run, a, b) >= 0; }},
};
bool is_in(Run& run, const Value& element, const Value& container) {
  return contains(run, container, element);
}
bool is_not_in(Run& run, const Value& element, const Value& container) {
  return !contains(run, container, element);
}

template <class Function, size_t kSize>
Function take_from(const std::array<Operator<Function>, kSize>& table, TokenReader& tokens) {
  for (const auto& [spelling, function] : table) {
    if (tokens.take_operator(spelling)) return function;
  }
  return nullptr;
}

}  // namespace

BinaryFunction take_sum_operator(TokenReader& tokens) { return take_from(kSums, tokens); }
BinaryFunction take_product_operator(TokenReader& tokens) { return take_from(kProducts, tokens); }

Comparison::Holds take_comparison(TokenReader& tokens) {
  if (const auto holds = take_from(kComparisons, tokens)) return holds;
  if (tokens.take_name("in")) return is_in;
  const bool is_negated = tokens.at_name("not") && tokens.peek(1).kind == TokenKind::kName &&
                          tokens.peek(1).text == "in";
  if (!is_negated) return nullptr;
  tokens.next();
  tokens.next();
  return is_not_in;
}

}  // namespace slip::jinja
