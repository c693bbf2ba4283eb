#include "text/jinja_parser.h"

#include <array>
#include <span>

#include "base/error.h"
#include "text/jinja_expression_parser.h"
#include "text/jinja_lexer.h"

namespace slip::jinja {
namespace {

class Parser {
 public:
  Parser(std::string_view source, const std::string& origin, const Limits& limits)
      : limits_(limits), tokens_(lex(source, origin), origin), expressions_(tokens_, limits_) {}

  Block parse_template() { return parse_block({}); }

 private:
  using Names = std::span<const std::string_view>;

  // Statements up to a tag that begins with one of `terminators`, whose name is then the next
  // token; without terminators up to the end.
  Block parse_block(Names terminators) {
    const Nesting nesting(depth_, limits_, tokens_);
    Block block;
    while (tokens_.peek().kind != TokenKind::kEnd) {
      const int line = tokens_.peek().line;
      const Token token = tokens_.next();
      if (token.kind == TokenKind::kText) {
        block.emplace_back(line).node.emplace<Text>().text = token.text;
      } else if (token.kind == TokenKind::kPrintBegin) {
        block.emplace_back(line).node.emplace<Print>().value = expressions_.parse();
        tokens_.expect(TokenKind::kPrintEnd, "'}}'");
      } else {
        if (is_at_one_of(terminators)) return block;
        parse_statement(block.emplace_back(line));
      }
    }
    if (!terminators.empty()) tokens_.fail_at_token("'" + std::string(terminators.back()) + "'");
    return block;
  }

  bool is_at_one_of(Names names) const {
    for (const std::string_view name : names) {
      if (tokens_.at_name(name)) return true;
    }
    return false;
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
      ExpressionPtr condition = keyword == "else" ? nullptr : expressions_.parse();
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
    node.variable = tokens_.expect_identifier("a name");
    if (tokens_.at_operator(",")) tokens_.refuse("'for' with several names");
    if (!tokens_.take_name("in")) tokens_.fail_at_token("'in'");
    node.iterable = expressions_.parse();
    if (tokens_.at_name("recursive")) tokens_.refuse("'for' with 'recursive'");
    end_tag();
    expressions_.enter_loop();
    node.body = parse_block(kAfterFor);
    expressions_.leave_loop();
    if (tokens_.at_name("else")) tokens_.refuse("'for' with 'else'");
    tokens_.next();
    end_tag();
  }

  void parse_set(Statement& statement) {
    Set& node = statement.node.emplace<Set>();
    node.variable = tokens_.expect_identifier("a name");
    if (tokens_.peek().kind == TokenKind::kStatementEnd) tokens_.refuse("'set' of a block");
    if (!tokens_.at_operator("=")) tokens_.refuse("'set' of anything but one name");
    tokens_.next();
    node.value = expressions_.parse();
    if (tokens_.at_operator(",")) tokens_.refuse("a tuple");
    end_tag();
  }

  void end_tag() { tokens_.expect(TokenKind::kStatementEnd, "'%}'"); }

  struct StatementParser {
    std::string_view name;
    void (Parser::*parse)(Statement& statement);
  };
  static const std::array<StatementParser, 3> kStatements;

  const Limits& limits_;
  TokenReader tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
};

constexpr std::array<Parser::StatementParser, 3> Parser::kStatements = {{
    {"for", &Parser::parse_for},
    {"if", &Parser::parse_if},
    {"set", &Parser::parse_set},
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
