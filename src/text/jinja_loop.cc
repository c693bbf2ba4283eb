#include "text/jinja_loop.h"

#include <algorithm>
#include <array>

#include "text/jinja_builtins.h"
#include "text/jinja_operations.h"

namespace slip::jinja {
namespace {

Value element_or_undefined(LoopState& loop, int64_t index) {
  if (index < 0 || !loop.has(index)) return {};
  return loop.passed[static_cast<size_t>(index)];
}

struct LoopField {
  std::string_view name;
  Value (*get)(LoopState& loop);
};
constexpr std::array kFields = {
    LoopField{"depth", [](LoopState& loop) { return Value(loop.depth0 + 1); }},
    LoopField{"depth0", [](LoopState& loop) { return Value(loop.depth0); }},
    LoopField{"first", [](LoopState& loop) { return Value(loop.index0 == 0); }},
    LoopField{"index", [](LoopState& loop) { return Value(loop.index0 + 1); }},
    LoopField{"index0", [](LoopState& loop) { return Value(loop.index0); }},
    LoopField{"last", [](LoopState& loop) { return Value(!loop.has(loop.index0 + 1)); }},
    LoopField{"length", [](LoopState& loop) { return Value(loop.length()); }},
    LoopField{"nextitem",
              [](LoopState& loop) { return element_or_undefined(loop, loop.index0 + 1); }},
    LoopField{"previtem",
              [](LoopState& loop) { return element_or_undefined(loop, loop.index0 - 1); }},
    LoopField{"revindex", [](LoopState& loop) { return Value(loop.length() - loop.index0); }},
    LoopField{"revindex0", [](LoopState& loop) { return Value(loop.length() - loop.index0 - 1); }},
};

LoopState& state_of(const Call& call) { return *call.subject.as<Loop>().state; }

// loop.cycle(a, b): its arguments in turn
Value cycle(const Call& call) {
  const Elements& items = call.arguments.positional;
  if (items.empty() || !call.arguments.named.empty()) call.run.fail("loop.cycle without items");
  return items[static_cast<size_t>(state_of(call).index0) % items.size()];
}

// loop.changed(a, b): whether the arguments differ from those of the last time
Value changed(const Call& call) {
  LoopState& loop = state_of(call);
  const Elements& now = call.arguments.positional;
  const bool is_same =
      loop.last_changed &&
      std::equal(now.begin(), now.end(), loop.last_changed->begin(), loop.last_changed->end(),
                 [&](const Value& a, const Value& b) { return are_equal(call.run, a, b); });
  if (!is_same) loop.last_changed = now;
  return Value(!is_same);
}

constexpr std::array kLoopMethods = {
    Builtin{"changed", {0, Signature::kAny}, changed},
    Builtin{"cycle", {0, Signature::kAny}, cycle},
};

}  // namespace

BuiltinTable loop_methods() { return kLoopMethods; }

bool LoopState::has(int64_t index) {
  while (static_cast<size_t>(index) >= passed.size()) {
    if (n_read == source->size()) return false;
    const Value& element = (*source)[n_read++];
    if (!passes || passes(element)) passed.push_back(element);
  }
  return true;
}

int64_t LoopState::length() {
  while (has(static_cast<int64_t>(passed.size()))) {
  }
  return static_cast<int64_t>(passed.size());
}

std::optional<Value> loop_field(LoopState& loop, std::string_view name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(),
                                  [&](const LoopField& field) { return field.name == name; });
  if (found == kFields.end()) return std::nullopt;
  return found->get(loop);
}

}  // namespace slip::jinja
