#include "text/jinja_builtins.h"

#include <algorithm>

namespace slip::jinja {
namespace {

constexpr std::array<std::string_view, 8> kListMutators = {"append", "clear",  "extend",  "insert",
                                                           "pop",    "remove", "reverse", "sort"};
constexpr std::array<std::string_view, 5> kMappingMutators = {"clear", "pop", "popitem",
                                                              "setdefault", "update"};

template <size_t kSize>
bool is_among(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Where `name` stands among the parameters; nothing if it does not.
std::optional<size_t> position_of(const Signature& signature, std::string_view name) {
  for (size_t i = 0; i < signature.n_max; ++i) {
    if (signature.names[i] == name) return i;
  }
  return std::nullopt;
}

std::string quoted(std::string_view name) { return "'" + std::string(name) + "'"; }

}  // namespace

const Value Call::kNone;

std::optional<std::string> complaint_about(const Signature& signature, size_t n_positional,
                                           const std::vector<std::string_view>& names) {
  if (signature.n_max == Signature::kAny) return std::nullopt;
  std::array<bool, Signature::kParametersMax> is_given{};
  if (n_positional > signature.n_max) return std::to_string(n_positional) + " arguments";
  std::fill_n(is_given.begin(), n_positional, true);
  for (const std::string_view name : names) {
    const auto position = position_of(signature, name);
    if (!position) return "an argument " + quoted(name);
    if (is_given[*position]) return "two arguments " + quoted(name);
    is_given[*position] = true;
  }
  const auto missing = std::find(is_given.begin(), is_given.begin() + signature.n_min, false);
  if (missing == is_given.begin() + signature.n_min) return std::nullopt;
  return std::to_string(n_positional + names.size()) + " arguments";
}

Call::Call(Run& run_in, const Builtin& builtin, const Value& subject_in,
           const Arguments& arguments_in)
    : run(run_in), subject(subject_in), arguments(arguments_in) {
  const Signature& signature = builtin.signature;
  if (signature.n_max == Signature::kAny) return;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : arguments.named) names.push_back(name);
  if (const auto wrong = complaint_about(signature, arguments.positional.size(), names)) {
    run.fail(quoted(builtin.name) + " with " + *wrong);
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) given_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) given_[*position_of(signature, name)] = &value;
}

int64_t Call::integer_or(size_t n, int64_t stand_in) const {
  if (!has(n)) return stand_in;
  const Value& value = (*this)[n];
  if (value.is<bool>()) return value.is_true() ? 1 : 0;
  if (!value.is<int64_t>()) {
    run.fail("an argument that is " + std::string(value.kind()) + ", wanted an integer");
  }
  return value.as<int64_t>();
}

const Text& Call::text(size_t n) const {
  const Value& value = (*this)[n];
  if (!value.is_string()) {
    run.fail("an argument that is " + std::string(value.kind()) + ", wanted a string");
  }
  return value.text();
}

Value Call::derived(Text text) const {
  run.make(text.cost_bytes());
  return Value(std::move(text), subject.is_markup());
}

const Builtin* find_in(BuiltinTable table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Builtin& builtin) { return builtin.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Builtin* find_filter(std::string_view name) {
  const Builtin* found = find_in(string_filters(), name);
  return found != nullptr ? found : find_in(list_filters(), name);
}
const Builtin* find_test(std::string_view name) { return find_in(tests(), name); }
const Builtin* find_function(std::string_view name) { return find_in(functions(), name); }

const Builtin* find_method(const Value& object, std::string_view name) {
  if (object.is_string()) return find_in(string_methods(), name);
  if (object.is<Mapping>()) return find_in(mapping_methods(), name);
  if (object.is<Loop>()) return find_in(loop_methods(), name);
  const bool is_list = object.is_list(ListKind::kList);
  const bool is_tuple = object.is_list(ListKind::kTuple) || object.is_list(ListKind::kGroup);
  if (!is_list && !(is_tuple && name != "copy")) return nullptr;
  return find_in(list_methods(), name);
}

bool is_method_name(std::string_view name) {
  const auto has = [name](BuiltinTable table) { return find_in(table, name) != nullptr; };
  return has(string_methods()) || has(list_methods()) || has(mapping_methods()) ||
         has(loop_methods()) || is_among(kListMutators, name) || is_among(kMappingMutators, name);
}

bool is_mutator(const Value& object, std::string_view name) {
  return (object.is_list(ListKind::kList) && is_among(kListMutators, name)) ||
         (object.is<Mapping>() && is_among(kMappingMutators, name));
}

Value call_builtin(Run& run, const Builtin& builtin, const Value& subject,
                   const Arguments& arguments) {
  return builtin.call(Call(run, builtin, subject, arguments));
}

}  // namespace slip::jinja
