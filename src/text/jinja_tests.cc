// What stands behind `is`.
#include <array>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_case.h"
#include "text/jinja_operations.h"
#include "text/jinja_show.h"

namespace slip::jinja {
namespace {

template <class... Kinds>
Value is_any(const Call& call) {
  return Value((call.subject.is<Kinds>() || ...));
}
template <bool kWanted>
Value is_boolean(const Call& call) {
  return Value(call.subject.is<bool>() && call.subject.is_true() == kWanted);
}
Value is_defined(const Call& call) { return Value(!call.subject.is<Undefined>()); }

Value is_sequence(const Call& call) {
  const Value& value = call.subject;
  const bool has_elements = value.is<List>() && value.as<List>().kind <= ListKind::kRange;
  return Value(has_elements || value.is_string() || value.is<Mapping>() || value.is<Undefined>());
}
Value is_iterable_value(const Call& call) { return Value(is_iterable(call.subject)); }

// Undefined values of Python are callable, too: they fail when they are called.
constexpr auto kIsCallable = is_any<Undefined, Macro, Method, Function, Loop>;

Value is_same(const Call& call) {
  const Value& a = call.subject;
  const Value& b = call[0];
  if (a.data().index() != b.data().index()) return Value(false);
  if (a.is<None>()) return Value(true);
  if (a.is<bool>()) return Value(a.is_true() == b.is_true());
  if (a.is<Mapping>()) return Value(a.as<Mapping>().entries == b.as<Mapping>().entries);
  if (a.is<List>()) return Value(a.as<List>().elements == b.as<List>().elements);
  call.run.refuse("'sameas' between " + std::string(a.kind()) + " and " + std::string(b.kind()));
}

Value is_remainder(const Call& call, const Value& divisor, int64_t wanted) {
  if (call.subject.is_string()) fail_between(call.run, "%", call.subject, divisor);
  return Value(are_equal(call.run, modulo(call.run, call.subject, divisor), Value(wanted)));
}
Value is_odd(const Call& call) { return is_remainder(call, Value(int64_t{2}), 1); }
Value is_even(const Call& call) { return is_remainder(call, Value(int64_t{2}), 0); }
Value is_divisible(const Call& call) { return is_remainder(call, call[0], 0); }

Value is_equal(const Call& call) { return Value(are_equal(call.run, call.subject, call[0])); }
Value is_unequal(const Call& call) { return Value(!are_equal(call.run, call.subject, call[0])); }
Value is_less(const Call& call) { return Value(compare(call.run, call.subject, call[0]) < 0); }
Value is_at_most(const Call& call) { return Value(compare(call.run, call.subject, call[0]) <= 0); }
Value is_more(const Call& call) { return Value(compare(call.run, call.subject, call[0]) > 0); }
Value is_at_least(const Call& call) { return Value(compare(call.run, call.subject, call[0]) >= 0); }
Value is_in(const Call& call) { return Value(contains(call.run, call[0], call.subject)); }

template <bool (*kHolds)(std::string_view text)>
Value is_cased(const Call& call) {
  return Value(kHolds(to_text(call.run, call.subject).bytes()));
}
Value is_escaped(const Call& call) { return Value(call.subject.is_markup()); }

constexpr Signature kNothing = {};
constexpr Signature kOne = {1, 1};

constexpr std::array kTests = {
    Builtin{"!=", kOne, is_unequal},
    Builtin{"<", kOne, is_less},
    Builtin{"<=", kOne, is_at_most},
    Builtin{"==", kOne, is_equal},
    Builtin{">", kOne, is_more},
    Builtin{">=", kOne, is_at_least},
    Builtin{"boolean", kNothing, is_any<bool>},
    Builtin{"callable", kNothing, kIsCallable},
    Builtin{"defined", kNothing, is_defined},
    Builtin{"divisibleby", {1, 1, {"num"}}, is_divisible},
    Builtin{"eq", kOne, is_equal},
    Builtin{"equalto", kOne, is_equal},
    Builtin{"escaped", kNothing, is_escaped},
    Builtin{"even", kNothing, is_even},
    Builtin{"false", kNothing, is_boolean<false>},
    Builtin{"float", kNothing, is_any<double>},
    Builtin{"ge", kOne, is_at_least},
    Builtin{"greaterthan", kOne, is_more},
    Builtin{"gt", kOne, is_more},
    Builtin{"in", {1, 1, {"seq"}}, is_in},
    Builtin{"integer", kNothing, is_any<int64_t>},
    Builtin{"iterable", kNothing, is_iterable_value},
    Builtin{"le", kOne, is_at_most},
    Builtin{"lessthan", kOne, is_less},
    Builtin{"lower", kNothing, is_cased<is_lower>},
    Builtin{"lt", kOne, is_less},
    Builtin{"mapping", kNothing, is_any<Mapping>},
    Builtin{"ne", kOne, is_unequal},
    Builtin{"none", kNothing, is_any<None>},
    Builtin{"number", kNothing, is_any<int64_t, double, bool>},  // a boolean is one in Python
    Builtin{"odd", kNothing, is_odd},
    Builtin{"sameas", {1, 1, {"other"}}, is_same},
    Builtin{"sequence", kNothing, is_sequence},
    Builtin{"string", kNothing, is_any<String>},
    Builtin{"true", kNothing, is_boolean<true>},
    Builtin{"undefined", kNothing, is_any<Undefined>},
    Builtin{"upper", kNothing, is_cased<is_upper>},
};

}  // namespace

BuiltinTable tests() { return kTests; }

}  // namespace slip::jinja
