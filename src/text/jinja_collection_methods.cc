// The methods of Python's lists, tuples and dictionaries that change nothing.
#include <algorithm>
#include <array>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_operations.h"

namespace slip::jinja {
namespace {

Value get(const Call& call) {
  if (call[0].is<Mapping>() || call[0].is_list(ListKind::kList)) {
    call.run.fail("a key that is " + std::string(call[0].kind()));
  }
  const Value* found = find_entry(call.run, call.subject, call[0]);
  if (found != nullptr) return *found;
  return call.has(1) ? call[1] : Value(None{});
}

Value items(const Call& call) {
  Elements pairs;
  call.run.make(call.subject.entries().size() * 3 * sizeof(Value));
  for (const auto& [key, value] : call.subject.entries()) {
    pairs.emplace_back(Elements{key, value}, ListKind::kTuple);
  }
  return make_list(call.run, std::move(pairs), ListKind::kItems);
}

Value keys(const Call& call) {
  Elements all;
  for (const auto& [key, value] : call.subject.entries()) all.push_back(key);
  return make_list(call.run, std::move(all), ListKind::kKeys);
}

Value values(const Call& call) {
  Elements all;
  for (const auto& [key, value] : call.subject.entries()) all.push_back(value);
  return make_list(call.run, std::move(all), ListKind::kValues);
}

Value copy(const Call& call) { return call.subject; }  // nothing can change either of them

Value count(const Call& call) {
  const Elements& elements = call.subject.elements();
  return Value(static_cast<int64_t>(
      std::count_if(elements.begin(), elements.end(),
                    [&](const Value& element) { return are_equal(call.run, element, call[0]); })));
}

Value index(const Call& call) {
  const Elements& elements = call.subject.elements();
  const auto found = std::find_if(elements.begin(), elements.end(), [&](const Value& element) {
    return are_equal(call.run, element, call[0]);
  });
  if (found == elements.end()) call.run.fail("an element that is not in the list");
  return Value(static_cast<int64_t>(found - elements.begin()));
}

constexpr std::array kMappingMethods = {
    Builtin{"copy", {}, copy}, Builtin{"get", {1, 2}, get},   Builtin{"items", {}, items},
    Builtin{"keys", {}, keys}, Builtin{"values", {}, values},
};

constexpr std::array kListMethods = {
    Builtin{"copy", {}, copy},
    Builtin{"count", {1, 1}, count},
    Builtin{"index", {1, 1}, index},
};

}  // namespace

BuiltinTable mapping_methods() { return kMappingMethods; }
BuiltinTable list_methods() { return kListMethods; }

}  // namespace slip::jinja
