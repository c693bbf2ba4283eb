#include "text/jinja_ast.h"

#include <algorithm>

namespace slip::jinja {
namespace {

int depth_of(const ExpressionPtr& part) { return part ? part->depth : 0; }

template <class... Parts>
int deepest(const Parts&... parts) {
  return std::max({depth_of(parts)...});
}

struct DepthBelow {
  int operator()(const Literal&) const { return 0; }
  int operator()(const Variable&) const { return 0; }
  int operator()(const Captured&) const { return 0; }
  int operator()(const ListOf& node) const { return of_all(node.elements); }
  int operator()(const MappingOf& node) const {
    int depth = 0;
    for (const auto& [key, value] : node.entries) depth = std::max(depth, deepest(key, value));
    return depth;
  }
  int operator()(const Attribute& node) const { return depth_of(node.object); }
  int operator()(const Item& node) const { return deepest(node.object, node.key); }
  int operator()(const Slice& node) const {
    return deepest(node.object, node.maybe_start, node.maybe_stop, node.maybe_step);
  }
  int operator()(const Not& node) const { return depth_of(node.operand); }
  int operator()(const Unary& node) const { return depth_of(node.operand); }
  int operator()(const Binary& node) const { return deepest(node.left, node.right); }
  int operator()(const Logical& node) const { return deepest(node.left, node.right); }
  int operator()(const Comparison& node) const {
    int depth = depth_of(node.first);
    for (const auto& [holds, operand] : node.rest) depth = std::max(depth, depth_of(operand));
    return depth;
  }
  int operator()(const Conditional& node) const {
    return deepest(node.condition, node.then, node.maybe_otherwise);
  }
  int operator()(const Application& node) const {
    return std::max(depth_of(node.subject), of_arguments(node.arguments));
  }
  int operator()(const Invocation& node) const {
    return std::max(depth_of(node.callee), of_arguments(node.arguments));
  }

 private:
  static int of_all(const std::vector<ExpressionPtr>& parts) {
    int depth = 0;
    for (const auto& part : parts) depth = std::max(depth, depth_of(part));
    return depth;
  }
  static int of_arguments(const ArgumentList& arguments) {
    int depth = of_all(arguments.positional);
    for (const auto& [name, value] : arguments.named) depth = std::max(depth, depth_of(value));
    return depth;
  }
};

}  // namespace

int depth_below(const Expression::Node& node) { return std::visit(DepthBelow{}, node); }

}  // namespace slip::jinja
