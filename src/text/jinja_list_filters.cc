// The filters that look at all elements of something.
#include <algorithm>
#include <array>
#include <functional>

#include "text/jinja_access.h"
#include "text/jinja_builtins.h"
#include "text/jinja_case.h"
#include "text/jinja_operations.h"
#include "text/jinja_show.h"

namespace slip::jinja {
namespace {

std::shared_ptr<const Elements> elements(const Call& call) {
  return elements_of(call.run, call.subject);
}

// What sorting and its like compare: an element or an attribute of it, in lower case unless
// `is_case_sensitive`.
Value key_of(Run& run, const Value& element, const Value& path, bool is_case_sensitive,
             const Value& stand_in = None{}) {
  Value key = item_at_path(run, element, path, stand_in);
  if (is_case_sensitive || !key.is_string()) return key;
  return Value(lower(run, key.text()));
}

// Keys of several attributes, "a,b", as a list.
Value keys_of(Run& run, const Value& element, const Value& paths, bool is_case_sensitive) {
  Elements keys;
  if (!paths.is_string()) {
    keys.push_back(key_of(run, element, paths, is_case_sensitive));
  } else {
    std::string_view rest = paths.string();
    while (true) {
      const std::string_view path = rest.substr(0, rest.find(','));
      keys.push_back(key_of(run, element, Value(std::string(path)), is_case_sensitive));
      if (path.size() == rest.size()) break;
      rest.remove_prefix(path.size() + 1);
    }
  }
  return make_list(run, std::move(keys));
}

// The elements in the order of `keys`, one for each, equal ones as they stood.
Elements sorted(Run& run, const Elements& elements, const Elements& keys, bool is_reversed) {
  std::vector<size_t> order(elements.size());
  run.make(elements.size() * (sizeof(size_t) + sizeof(Value)));
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int sign = compare(run, keys[a], keys[b]);
    return is_reversed ? sign > 0 : sign < 0;
  });
  Elements result;
  for (const size_t i : order) result.push_back(elements[i]);
  return result;
}

// sort(reverse = false, case_sensitive = false, attribute = none)
Value sort(const Call& call) {
  const auto all = elements(call);
  Elements keys;
  for (const Value& element : *all) {
    keys.push_back(keys_of(call.run, element, call[2], call.truth_or(1, false)));
  }
  return make_list(call.run, sorted(call.run, *all, keys, call.integer_or(0, 0) != 0));
}

// dictsort(case_sensitive = false, by = "key", reverse = false): pairs
Value dict_sort(const Call& call) {
  if (!call.subject.is<Mapping>()) {
    call.run.fail("dictsort of " + std::string(call.subject.kind()));
  }
  const std::string by = call.has(1) ? call.text(1).bytes() : "key";
  if (by != "key" && by != "value") call.run.fail("dictsort by '" + by + "'");
  Elements pairs;
  Elements keys;
  for (const auto& [key, value] : call.subject.entries()) {
    pairs.push_back(make_list(call.run, {key, value}, ListKind::kTuple));
    keys.push_back(key_of(call.run, by == "key" ? key : value, None{}, call.truth_or(0, false)));
  }
  return make_list(call.run, sorted(call.run, pairs, keys, call.integer_or(2, 0) != 0));
}

bool is_hashable(const Value& value) {
  return !value.is<Mapping>() && !value.is_list(ListKind::kList);
}

// unique(case_sensitive = false, attribute = none)
Value unique(const Call& call) {
  Elements keys;
  Elements kept;
  const auto all = elements(call);
  for (const Value& element : *all) {
    Value key = key_of(call.run, element, call[1], call.truth_or(0, false));
    if (!is_hashable(key)) call.run.fail("unique of " + std::string(key.kind()));
    const bool is_known = std::any_of(keys.begin(), keys.end(), [&](const Value& known) {
      return are_equal(call.run, known, key);
    });
    if (is_known) continue;
    keys.push_back(std::move(key));
    kept.push_back(element);
  }
  return make_iterator(call.run, std::move(kept));
}

// min and max(case_sensitive = false, attribute = none): the first of several
template <int kSign>
Value extreme(const Call& call) {
  Value best;
  Value best_key;
  bool is_first = true;
  const auto all = elements(call);
  for (const Value& element : *all) {
    Value key = key_of(call.run, element, call[1], call.truth_or(0, false));
    if (is_first || kSign * compare(call.run, key, best_key) > 0) {
      best = element;
      best_key = std::move(key);
    }
    is_first = false;
  }
  return best;
}

// groupby(attribute, default = none, case_sensitive = false): pairs of grouper and list
Value group_by(const Call& call) {
  const auto all = elements(call);
  const Value stand_in = call.has(1) ? call[1] : Value(None{});
  Elements keys;
  for (const Value& element : *all) {
    keys.push_back(key_of(call.run, element, call[0], call.truth_or(2, false), stand_in));
  }
  const Elements in_order = sorted(call.run, *all, keys, false);
  const Elements key_order = sorted(call.run, keys, keys, false);
  Elements groups;
  for (size_t begin = 0; begin < in_order.size();) {
    size_t end = begin + 1;
    while (end < in_order.size() && are_equal(call.run, key_order[begin], key_order[end])) ++end;
    Elements group(in_order.begin() + static_cast<ptrdiff_t>(begin),
                   in_order.begin() + static_cast<ptrdiff_t>(end));
    const Value grouper = key_of(call.run, group[0], call[0], true, stand_in);
    groups.push_back(
        make_list(call.run, {grouper, make_list(call.run, std::move(group))}, ListKind::kGroup));
    begin = end;
  }
  return make_list(call.run, std::move(groups));
}

// sum(attribute = none, start = 0)
Value sum(const Call& call) {
  Value total = call.has(1) ? call[1] : Value(int64_t{0});
  if (total.is_string()) call.run.fail("sum of strings");
  const auto all = elements(call);
  for (const Value& element : *all) {
    total = add(call.run, total, item_at_path(call.run, element, call[0], None{}));
  }
  return total;
}

// join(d = "", attribute = none)
Value join(const Call& call) {
  const Text separator = call.has(0) ? to_text(call.run, call[0]) : Text();
  Text out;
  bool is_first = true;
  const auto all = elements(call);
  for (const Value& element : *all) {
    const Text part = to_text(call.run, item_at_path(call.run, element, call[1], None{}));
    call.run.make(separator.cost_bytes() + part.cost_bytes());
    if (!is_first) out.append(separator);
    is_first = false;
    out.append(part);
  }
  return Value(std::move(out));
}

// Unlike what a subscript gives, never HTML.
Value character_at(const Call& call, int64_t position) {
  return item(call.run, Value(call.subject.text()), Value(position));
}

Value first(const Call& call) {
  if (call.subject.is<Iterator>()) {  // takes one and leaves the rest
    IteratorState& state = *call.subject.as<Iterator>().state;
    return state.at < state.elements.size() ? state.elements[state.at++] : Value();
  }
  if (call.subject.is_string()) return character_at(call, 0);
  const auto all = elements(call);
  return all->empty() ? Value() : all->front();
}

Value last(const Call& call) {
  if (call.subject.is<Iterator>()) call.run.fail("last of an iterator");
  if (call.subject.is_string()) return character_at(call, -1);
  const auto all = elements(call);
  return all->empty() ? Value() : all->back();
}

Value list(const Call& call) { return make_list(call.run, *elements(call)); }

Value reverse(const Call& call) {
  if (call.subject.is_string()) {
    return slice(call.run, call.subject, {None{}, None{}, Value(int64_t{-1})});
  }
  Elements reversed = *elements(call);
  std::reverse(reversed.begin(), reversed.end());
  return call.subject.is<Iterator>() ? make_list(call.run, std::move(reversed))
                                     : make_iterator(call.run, std::move(reversed));
}

Value items(const Call& call) {
  Elements pairs;
  if (!call.subject.is<Undefined>()) {
    if (!call.subject.is<Mapping>()) {
      call.run.fail("items of " + std::string(call.subject.kind()) + ", wanted a mapping");
    }
    for (const auto& [key, value] : call.subject.entries()) {
      pairs.push_back(make_list(call.run, {key, value}, ListKind::kTuple));
    }
  }
  return make_iterator(call.run, std::move(pairs));
}

// batch(linecount, fill_with = none): lists of so many, the last one filled up
Value batch(const Call& call) {
  const int64_t n_columns = call.integer_or(0, 1);
  Elements lines;
  Elements line;
  const auto all = elements(call);
  for (const Value& element : *all) {
    if (static_cast<int64_t>(line.size()) == n_columns) {
      lines.push_back(make_list(call.run, std::exchange(line, {})));
    }
    line.push_back(element);
  }
  if (!line.empty()) {
    const bool is_filled = call.has(1) && !call[1].is<None>();
    while (is_filled && static_cast<int64_t>(line.size()) < n_columns) {
      call.run.make(sizeof(Value));
      line.push_back(call[1]);
    }
    lines.push_back(make_list(call.run, std::move(line)));
  }
  return make_iterator(call.run, std::move(lines));
}

// slice(slices, fill_with = none): so many lists, the first ones one longer
Value slices(const Call& call) {
  const auto all = elements(call);
  const int64_t n_slices = call.integer_or(0, 1);
  if (n_slices == 0) call.run.fail("slice into 0 lists");
  const auto size = static_cast<int64_t>(all->size());
  Elements columns;
  int64_t begin = 0;
  for (int64_t i = 0; i < n_slices; ++i) {
    const bool is_longer = i < size % n_slices;
    const int64_t end = begin + size / n_slices + (is_longer ? 1 : 0);
    Elements column(all->begin() + begin, all->begin() + end);
    if (call.has(1) && !call[1].is<None>() && !is_longer) column.push_back(call[1]);
    call.run.make(sizeof(Value));
    columns.push_back(make_list(call.run, std::move(column)));
    begin = end;
  }
  return make_iterator(call.run, std::move(columns));
}

// The arguments behind the first `n`.
Arguments rest_of(const Call& call, size_t n) {
  Arguments rest = call.arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<ptrdiff_t>(n));
  return rest;
}

const std::string& name_argument(const Call& call, size_t n) {
  const Value& name = call.arguments.positional[n];
  if (!name.is_string()) call.run.fail("a name that is " + std::string(name.kind()));
  return name.string();
}

// What map does with each element: map("filter", ...) or map(attribute = "a.b", default = x).
std::function<Value(const Value& element)> mapping_of(const Call& call) {
  Run& run = call.run;
  if (!call.arguments.positional.empty()) {
    const std::string& name = name_argument(call, 0);
    const Builtin* filter = find_filter(name);
    if (filter == nullptr) run.refuse("filter '" + name.substr(0, 100) + "'");
    return [&run, filter, rest = rest_of(call, 1)](const Value& element) {
      return call_builtin(run, *filter, element, rest);
    };
  }
  Value path;
  Value stand_in = None{};
  for (const auto& [name, value] : call.arguments.named) {
    if (name != "attribute" && name != "default") run.fail("map with an argument '" + name + "'");
    (name == "attribute" ? path : stand_in) = value;
  }
  if (path.is<Undefined>()) run.fail("map without a filter");
  return [&run, path, stand_in](const Value& element) {
    return item_at_path(run, element, path, stand_in);
  };
}

Value map(const Call& call) {
  Elements mapped;
  if (call.subject.is_true()) {
    const auto mapping = mapping_of(call);
    const auto all = elements(call);
    for (const Value& element : *all) mapped.push_back(mapping(element));
  }
  return make_iterator(call.run, std::move(mapped));
}

// select and reject("test", ...), selectattr and rejectattr("a.b", "test", ...)
template <bool kWanted, bool kOfAttribute>
Value select(const Call& call) {
  Run& run = call.run;
  constexpr size_t kTestAt = kOfAttribute ? 1 : 0;
  const Elements& given = call.arguments.positional;
  if (!call.subject.is_true()) return make_iterator(run, {});
  if (given.size() < kTestAt) run.fail("selectattr without an attribute");
  const Builtin* test = nullptr;
  Arguments rest;
  if (given.size() > kTestAt) {
    const std::string& name = name_argument(call, kTestAt);
    test = find_test(name);
    if (test == nullptr) run.refuse("test '" + name.substr(0, 100) + "'");
    rest = rest_of(call, kTestAt + 1);
  }
  Elements kept;
  const auto all = elements(call);
  for (const Value& element : *all) {
    const Value subject = kOfAttribute ? item_at_path(run, element, given[0], None{}) : element;
    const Value verdict = test != nullptr ? call_builtin(run, *test, subject, rest) : subject;
    if (verdict.is_true() == kWanted) kept.push_back(element);
  }
  return make_iterator(run, std::move(kept));
}

constexpr Signature kAnything = {0, Signature::kAny};
constexpr Signature kExtreme = {0, 2, {"case_sensitive", "attribute"}};

constexpr std::array kListFilters = {
    Builtin{"batch", {1, 2, {"linecount", "fill_with"}}, batch},
    Builtin{"dictsort", {0, 3, {"case_sensitive", "by", "reverse"}}, dict_sort},
    Builtin{"first", kNoArguments, first},
    Builtin{"groupby", {1, 3, {"attribute", "default", "case_sensitive"}}, group_by},
    Builtin{"items", kNoArguments, items},
    Builtin{"join", {0, 2, {"d", "attribute"}}, join},
    Builtin{"last", kNoArguments, last},
    Builtin{"list", kNoArguments, list},
    Builtin{"map", kAnything, map},
    Builtin{"max", kExtreme, extreme<1>},
    Builtin{"min", kExtreme, extreme<-1>},
    Builtin{"reject", kAnything, select<false, false>},
    Builtin{"rejectattr", kAnything, select<false, true>},
    Builtin{"reverse", kNoArguments, reverse},
    Builtin{"select", kAnything, select<true, false>},
    Builtin{"selectattr", kAnything, select<true, true>},
    Builtin{"slice", {1, 2, {"slices", "fill_with"}}, slices},
    Builtin{"sort", {0, 3, {"reverse", "case_sensitive", "attribute"}}, sort},
    Builtin{"sum", {0, 2, {"attribute", "start"}}, sum},
    Builtin{"unique", kExtreme, unique},
};

}  // namespace

BuiltinTable list_filters() { return kListFilters; }

}  // namespace slip::jinja
