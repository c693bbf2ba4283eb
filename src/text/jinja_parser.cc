#include "text/jinja_parser.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/error.h"
#include "text/jinja_expression_parser.h"
#include "text/jinja_lexer.h"

namespace slip::jinja {
namespace {

using Names = std::span<const std::string_view>;

bool names_attribute(const Target& target) {
  return !target.attribute.empty() ||
         std::any_of(target.parts.begin(), target.parts.end(), names_attribute);
}
bool names_loop(const Target& target) {
  return target.name == "loop" || std::any_of(target.parts.begin(), target.parts.end(), names_loop);
}

class Parser {
 public:
  Parser(std::string_view source, const std::string& origin, const Limits& limits)
      : limits_(limits), tokens_(lex(source, origin), origin), expressions_(tokens_, limits_) {}

  Block parse_template() { return parse_block({}); }

 private:
  // Statements up to a tag that begins with one of `terminators`, whose name is then the next
  // token; without terminators up to the end.
  Block parse_block(Names terminators) {
    const Nesting nesting(depth_, limits_, tokens_);
    Block block;
    while (tokens_.peek().kind != TokenKind::kEnd) {
      const int line = tokens_.peek().line;
      const Token token = tokens_.next();
      if (token.kind == TokenKind::kText) {
        block.emplace_back(line).node.emplace<Fixed>().text = token.text;
      } else if (token.kind == TokenKind::kPrintBegin) {
        block.emplace_back(line).node.emplace<Print>().value = expressions_.parse_tuple();
        tokens_.expect(TokenKind::kPrintEnd, "'}}'");
      } else {
        if (is_at_one_of(terminators)) return block;
        parse_statement(block.emplace_back(line));
      }
    }
    if (!terminators.empty()) tokens_.fail_at_token("'" + std::string(terminators.back()) + "'");
    return block;
  }

  // The body of a statement whose tag ends here, up to and with its end tag.
  Block parse_body(const std::string_view end) {
    end_tag();
    Block body = parse_block({&end, 1});
    tokens_.next();
    end_tag();
    return body;
  }

  bool is_at_one_of(Names names) const {
    return std::any_of(names.begin(), names.end(),
                       [this](std::string_view name) { return tokens_.at_name(name); });
  }

  void parse_statement(Statement& statement) {
    const Token token = tokens_.peek();
    const bool is_out_of_place =
        token.text == "else" || token.text == "elif" || token.text.starts_with("end");
    if (token.kind != TokenKind::kName || is_out_of_place) tokens_.fail_at_token("a statement");
    tokens_.next();
    for (const auto& [name, parse] : kStatements) {
      if (name == token.text) return (this->*parse)(statement);
    }
    tokens_.refuse("statement '" + token.text + "'");
  }

  void parse_if(Statement& statement) {
    static constexpr std::array<std::string_view, 3> kAfterIf = {"elif", "else", "endif"};
    static constexpr std::array<std::string_view, 1> kAfterElse = {"endif"};
    If& node = statement.node.emplace<If>();
    std::string keyword = "if";
    while (keyword != "endif") {
      ExpressionPtr condition = keyword == "else" ? nullptr : expressions_.parse_tuple(false);
      end_tag();
      Block body = parse_block(condition ? Names(kAfterIf) : Names(kAfterElse));
      node.branches.push_back({std::move(condition), std::move(body)});
      keyword = tokens_.next().text;
    }
    end_tag();
  }

  void parse_for(Statement& statement) {
    static constexpr std::array<std::string_view, 2> kAfterFor = {"else", "endfor"};
    For& node = statement.node.emplace<For>();
    node.target = expressions_.parse_target();
    if (names_attribute(node.target)) tokens_.fail_at_token("a plain name before it");
    if (names_loop(node.target)) tokens_.fail_at_token("another name than loop before it");
    if (!tokens_.take_name("in")) tokens_.fail_at_token("'in'");
    node.iterable = expressions_.parse_tuple(false);
    if (tokens_.take_name("if")) node.maybe_condition = expressions_.parse();
    node.is_recursive = tokens_.take_name("recursive");
    end_tag();
    ++n_loops_;
    node.body = parse_block(kAfterFor);
    --n_loops_;
    if (tokens_.next().text == "else") {
      node.otherwise = parse_body("endfor");
    } else {
      end_tag();
    }
  }

  void parse_set(Statement& statement) {
    Target target = expressions_.parse_target();
    if (tokens_.take_operator("=")) {
      statement.node.emplace<Set>() = {std::move(target), expressions_.parse_tuple()};
      return end_tag();
    }
    SetBlock& node = statement.node.emplace<SetBlock>();
    node.target = std::move(target);
    node.value = expressions_.parse_block_filters(false);
    node.body = parse_body("endset");
  }

  void parse_filter_block(Statement& statement) {
    FilterBlock& node = statement.node.emplace<FilterBlock>();
    node.value = expressions_.parse_block_filters(true);
    node.body = parse_body("endfilter");
  }

  void parse_with(Statement& statement) {
    With& node = statement.node.emplace<With>();
    while (tokens_.peek().kind != TokenKind::kStatementEnd) {
      if (!node.assignments.empty()) tokens_.expect_operator(",");
      Target target;
      target.name = tokens_.expect_identifier("a name");
      tokens_.expect_operator("=");
      node.assignments.emplace_back(std::move(target), expressions_.parse());
    }
    node.body = parse_body("endwith");
  }

  void parse_macro(Statement& statement) {
    MacroDefinition& node = statement.node.emplace<MacroDefinition>();
    node.name = tokens_.expect_identifier("a name");
    parse_parameters(node);
    parse_macro_body(node, "endmacro");
  }

  void parse_call(Statement& statement) {
    CallBlock& node = statement.node.emplace<CallBlock>();
    node.caller.name = "caller";
    if (tokens_.at_operator("(")) parse_parameters(node.caller);
    node.invocation = expressions_.parse_invocation();
    parse_macro_body(node.caller, "endcall");
  }

  void parse_parameters(MacroDefinition& macro) {
    tokens_.expect_operator("(");
    while (!tokens_.take_operator(")")) {
      if (!macro.parameters.empty()) tokens_.expect_operator(",");
      MacroDefinition::Parameter parameter{tokens_.expect_identifier("a name"), nullptr};
      if (tokens_.take_operator("=")) {
        parameter.maybe_default = expressions_.parse();
      } else if (!macro.parameters.empty() && macro.parameters.back().maybe_default) {
        tokens_.fail_at_token("a default, as the parameter before has");
      }
      const bool is_implicit =
          parameter.name == "caller" || parameter.name == "varargs" || parameter.name == "kwargs";
      if (is_implicit) tokens_.refuse("a parameter named '" + parameter.name + "'");
      macro.parameters.push_back(std::move(parameter));
    }
  }

  void parse_macro_body(MacroDefinition& macro, std::string_view end) {
    const int n_loops_outside = n_loops_;
    n_loops_ = 0;  // no way from a macro's body into the loop around it
    expressions_.begin_macro();
    macro.body = parse_body(end);
    const ImplicitNames names = expressions_.end_macro();
    macro.takes_caller = names.caller;
    macro.takes_varargs = names.varargs;
    macro.takes_kwargs = names.kwargs;
    n_loops_ = n_loops_outside;
  }

  // Marks what the assistant says, for training; it prints its body.
  void parse_generation(Statement& statement) {
    const int n_loops_outside = n_loops_;
    n_loops_ = 0;
    statement.node.emplace<Scoped>().body = parse_body("endgeneration");
    n_loops_ = n_loops_outside;
  }

  template <class Jump>
  void parse_jump(Statement& statement) {
    if (n_loops_ == 0) tokens_.fail_at_token("a loop around the jump");
    statement.node.emplace<Jump>();
    end_tag();
  }

  void end_tag() { tokens_.expect(TokenKind::kStatementEnd, "'%}'"); }

  struct StatementParser {
    std::string_view name;
    void (Parser::*parse)(Statement& statement);
  };
  static const std::array<StatementParser, 10> kStatements;

  const Limits& limits_;
  TokenReader tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int n_loops_ = 0;  // around, within the macro
};

constexpr std::array<Parser::StatementParser, 10> Parser::kStatements = {{
    {"break", &Parser::parse_jump<Break>},
    {"call", &Parser::parse_call},
    {"continue", &Parser::parse_jump<Continue>},
    {"filter", &Parser::parse_filter_block},
    {"for", &Parser::parse_for},
    {"generation", &Parser::parse_generation},
    {"if", &Parser::parse_if},
    {"macro", &Parser::parse_macro},
    {"set", &Parser::parse_set},
    {"with", &Parser::parse_with},
}};

}  // namespace

Block parse(std::string_view source, const std::string& origin, const Limits& limits) {
  if (source.size() > limits.template_bytes_max) {
    throw Error(ErrorCode::kUnsupportedModel,
                origin + ": " + std::to_string(source.size()) + " bytes, at most " +
                    std::to_string(limits.template_bytes_max) + " are read");
  }
  return Parser(source, origin, limits).parse_template();
}

}  // namespace slip::jinja
