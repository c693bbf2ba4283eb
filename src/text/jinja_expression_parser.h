// The expressions of Jinja. The statement parser owns one and lends it the tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_limits.h"
#include "text/jinja_token_reader.h"

namespace slip::jinja {

// Which of the names that macros are given implicitly a body uses.
struct ImplicitNames {
  bool caller = false, varargs = false, kwargs = false;
};

class ExpressionParser {
 public:
  // Both must outlive this object.
  ExpressionParser(TokenReader& tokens, const Limits& limits) : tokens_(tokens), limits_(limits) {}

  ExpressionPtr parse();
  // Several expressions with commas between are a tuple. `has_conditions` is false where an `if`
  // behind the expression belongs to the statement.
  ExpressionPtr parse_tuple(bool has_conditions = true);
  // What stands behind a block tag: filters that apply to the block's text. `begins_inside` when
  // the first one has no "|" in front.
  ExpressionPtr parse_block_filters(bool begins_inside);
  Target parse_target();
  // A call and nothing around it.
  ExpressionPtr parse_invocation();

  // Between these two, uses of the implicit names are noted; end gives what was noted.
  void begin_macro() { macros_.emplace_back(); }
  ImplicitNames end_macro();

 private:
  ExpressionPtr parse_condition(ExpressionPtr value);
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_comparison();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concatenation();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool has_filters);
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_list();
  ExpressionPtr parse_mapping();
  ExpressionPtr parse_parentheses();
  ExpressionPtr parse_postfix(ExpressionPtr value);
  ExpressionPtr parse_dot(ExpressionPtr object);
  ExpressionPtr parse_subscript(ExpressionPtr object);
  ExpressionPtr parse_bound();
  ExpressionPtr parse_filters(ExpressionPtr value);
  ExpressionPtr parse_filter(ExpressionPtr value);
  ExpressionPtr parse_test(ExpressionPtr value);
  ExpressionPtr parse_invocation_of(ExpressionPtr callee);
  // The arguments up to and with the closing parenthesis.
  ArgumentList parse_arguments();
  ExpressionPtr make_application(const Builtin* builtin, const std::string& name,
                                 ExpressionPtr subject, ArgumentList arguments);
  Target parse_target_part();

  ExpressionPtr make(Expression::Node node);

  TokenReader& tokens_;
  const Limits& limits_;
  int depth_ = 0;
  std::vector<ImplicitNames> macros_;
};

}  // namespace slip::jinja
