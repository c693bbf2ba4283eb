// The names that templates may use behind "|", "is", "." and as functions. One table each: adding a
// name is adding a row, and a golden rendering of it (tools/make_template_golden.py).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// What stands between the parentheses of a call.
struct Arguments {
  Elements positional;
  std::vector<std::pair<std::string, Value>> named;
};

// The parameters of a builtin. Those with a name may be given by it.
struct Signature {
  static constexpr size_t kParametersMax = 5;
  static constexpr size_t kAny = static_cast<size_t>(-1);

  size_t n_min = 0;
  size_t n_max = 0;  // kAny: as many as one likes, and the builtin looks at the names itself
  std::array<std::string_view, kParametersMax> names = {};
};
inline constexpr Signature kNoArguments = {};

// What is wrong with giving so many arguments, and these by name; nothing if nothing is.
std::optional<std::string> complaint_about(const Signature& signature, size_t n_positional,
                                           const std::vector<std::string_view>& names);

// A builtin's view of its call.
class Call {
 public:
  // Everything must outlive this object. Fails in `run` if `arguments` do not fit `builtin`.
  Call(Run& run, const Builtin& builtin, const Value& subject, const Arguments& arguments);

  Run& run;
  const Value& subject;        // what a filter, test or method is applied to
  const Arguments& arguments;  // as they were given

  // The n-th parameter. Undefined if it was not given.
  const Value& operator[](size_t n) const { return given_[n] ? *given_[n] : kNone; }
  bool has(size_t n) const { return given_[n] != nullptr; }
  // Each gives the stand-in for a parameter that was not given and fails on any other kind.
  int64_t integer_or(size_t n, int64_t stand_in) const;
  bool truth_or(size_t n, bool stand_in) const { return has(n) ? (*this)[n].is_true() : stand_in; }
  const Text& text(size_t n) const;  // must be given

  // The result `text`, made of the subject: HTML stays HTML.
  Value derived(Text text) const;

 private:
  static const Value kNone;
  std::array<const Value*, Signature::kParametersMax> given_ = {};
};

struct Builtin {
  std::string_view name;
  Signature signature;
  Value (*call)(const Call& call);
};

using BuiltinTable = std::span<const Builtin>;

// The tables, by what they are for.
BuiltinTable string_filters();
BuiltinTable list_filters();
BuiltinTable tests();
BuiltinTable functions();
BuiltinTable string_methods();
BuiltinTable list_methods();  // tuples have them, too
BuiltinTable mapping_methods();
BuiltinTable loop_methods();

// nullptr: no such name.
const Builtin* find_in(BuiltinTable table, std::string_view name);
const Builtin* find_filter(std::string_view name);
const Builtin* find_test(std::string_view name);
const Builtin* find_function(std::string_view name);
// The methods that `object` has in Python and here.
const Builtin* find_method(const Value& object, std::string_view name);
// Whether any kind of value has such a method, or would have it outside of jinja2's sandbox.
bool is_method_name(std::string_view name);
// Methods that would change their object. jinja2's immutable sandbox treats them as undefined.
bool is_mutator(const Value& object, std::string_view name);

// builtin(subject, arguments)
Value call_builtin(Run& run, const Builtin& builtin, const Value& subject,
                   const Arguments& arguments);

// Fails for what a namespace may not hold: names with an underscore in front, as Hugging Face has
// it, and values that are bound to a scope.
void check_namespace_entry(Run& run, std::string_view name, const Value& value);

}  // namespace slip::jinja
