// The operators of Jinja by their spelling. Adding one is adding a row.
#pragma once

#include <string_view>

#include "text/jinja_ast.h"
#include "text/jinja_token_reader.h"

namespace slip::jinja {

using BinaryFunction = Value (*)(Run& run, const Value& left, const Value& right);

// Each consumes the operator that is next and gives its function; nullptr if none of its kind is.
BinaryFunction take_sum_operator(TokenReader& tokens);      // + -
BinaryFunction take_product_operator(TokenReader& tokens);  // * / // %
Comparison::Holds take_comparison(TokenReader& tokens);     // == != < <= > >= in, not in

}  // namespace slip::jinja
