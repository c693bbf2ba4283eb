#include "text/jinja_access.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "text/jinja_builtins.h"
#include "text/jinja_loop.h"
#include "text/jinja_operations.h"
#include "text/jinja_strings.h"
#include "text/unicode.h"

namespace slip::jinja {
namespace {

// Attributes that Python has and that mean nothing here: those are refused, so that a template
// never silently takes them for undefined.
struct Refused {
  bool (*is_kind)(const Value& value);
  std::string_view name;
};
template <class Kind>
bool is_kind(const Value& value) {
  return value.is<Kind>();
}
bool is_range(const Value& value) { return value.is_list(ListKind::kRange); }
constexpr std::array kRefused = {
    Refused{is_kind<String>, "encode"},
    Refused{is_kind<String>, "expandtabs"},
    Refused{is_kind<String>, "format_map"},
    Refused{is_kind<String>, "isascii"},
    Refused{is_kind<String>, "isidentifier"},
    Refused{is_kind<String>, "isprintable"},
    Refused{is_kind<String>, "istitle"},
    Refused{is_kind<String>, "maketrans"},
    Refused{is_kind<String>, "translate"},
    Refused{is_kind<Mapping>, "fromkeys"},
    Refused{is_range, "start"},
    Refused{is_range, "stop"},
    Refused{is_range, "step"},
    Refused{is_range, "index"},
    Refused{is_range, "count"},
    Refused{is_kind<Macro>, "name"},
    Refused{is_kind<Macro>, "arguments"},
    Refused{is_kind<Macro>, "caller"},
    Refused{is_kind<Macro>, "catch_kwargs"},
    Refused{is_kind<Macro>, "catch_varargs"},
};

void refuse_unknown(Run& run, const Value& object, std::string_view name) {
  const bool is_refused = std::any_of(kRefused.begin(), kRefused.end(), [&](const Refused& row) {
    return row.name == name && row.is_kind(object);
  });
  if (is_refused) run.refuse("'" + std::string(name) + "' of " + std::string(object.kind()));
}

// Python's own attributes (__class__): jinja2's sandbox hides them.
bool is_internal(std::string_view name) { return name.starts_with("__") && name.ends_with("__"); }

// The attribute that the kind of `object` gives it; nothing if it gives none.
std::optional<Value> kind_attribute(Run& run, const Value& object, const std::string& name) {
  if (is_internal(name) || is_mutator(object, name)) return Value();
  if (const Builtin* builtin = find_method(object, name)) return Value::method(object, *builtin);
  refuse_unknown(run, object, name);
  if (object.is<Loop>()) return loop_field(*object.as<Loop>().state, name);
  if (object.is_list(ListKind::kGroup)) {
    if (name == "grouper") return object.elements()[0];
    if (name == "list") return object.elements()[1];
  }
  if (object.is<Namespace>()) {
    const Value* found = find_entry(run, object.as<Namespace>().state->attributes, name);
    if (found != nullptr) return *found;
  }
  return std::nullopt;
}

Value element_at(Run& run, const Value& object, int64_t position) {
  if (object.is_string()) {
    run.step(object.string().size());
    const auto character = code_point_at(object.string(), position);
    if (!character) return {};
    run.make(character->size());
    return Value(object.text().part(*character), object.is_markup());
  }
  const ListKind kind = object.as<List>().kind;
  const bool is_view =
      kind == ListKind::kKeys || kind == ListKind::kValues || kind == ListKind::kItems;
  const auto size = static_cast<int64_t>(object.elements().size());
  const int64_t from_front = position < 0 ? position + size : position;
  if (is_view || from_front < 0 || from_front >= size) return {};
  return object.elements()[static_cast<size_t>(from_front)];
}

// A slice's bounds resolved against a length, as Python's slice.indices does.
struct Steps {
  int64_t start, stop, step;
};

Steps resolve(Run& run, const SliceBounds& bounds, int64_t size) {
  const auto integer_or = [&](const Value& value, int64_t stand_in) {
    if (value.is<None>()) return stand_in;
    const auto integer = as_integer(value);
    if (!integer) run.fail("a slice from " + std::string(value.kind()) + ", wanted an integer");
    return *integer;
  };
  const int64_t step = integer_or(bounds.step, 1);
  if (step == 0) run.fail("a slice with step 0");
  const int64_t low = step > 0 ? 0 : -1;
  const int64_t high = step > 0 ? size : size - 1;
  const auto clamped = [&](const Value& value, int64_t stand_in) {
    int64_t at = integer_or(value, stand_in);
    if (value.is<None>()) return at;
    if (at < 0) at = at < -size ? low : at + size;
    return std::clamp(at, low, std::max(low, high));
  };
  return {clamped(bounds.start, step > 0 ? 0 : size - 1),
          clamped(bounds.stop, step > 0 ? size : -1), step};
}

// The positions of a slice, one after the other.
template <class Visit>
void visit_positions(const Steps& steps, int64_t size, Visit visit) {
  for (int64_t at = steps.start; steps.step > 0 ? at < steps.stop : at > steps.stop;) {
    visit(static_cast<size_t>(at));
    // Past the end in one step: no sum that could overflow.
    if (steps.step > size || steps.step < -size) break;
    at += steps.step;
  }
}

Value slice_string(Run& run, const Value& object, const SliceBounds& bounds) {
  const Text& text = object.text();
  run.step(text.size());
  const auto size = static_cast<int64_t>(n_code_points(text.bytes()));
  const Steps steps = resolve(run, bounds, size);
  Text out;
  if (steps.step == 1) {
    if (steps.start < steps.stop) {
      const size_t begin = byte_offset(text.bytes(), static_cast<size_t>(steps.start));
      const size_t end = byte_offset(text.bytes(), static_cast<size_t>(steps.stop));
      out = text.part(begin, end - begin);
    }
  } else {
    run.make((text.size() + 1) * sizeof(size_t));
    const std::vector<size_t> offsets = code_point_offsets(text.bytes());
    visit_positions(steps, size, [&](size_t at) {
      out.append(text, offsets[at], offsets[at + 1] - offsets[at]);
    });
  }
  run.make(out.cost_bytes());
  return Value(std::move(out), object.is_markup());
}

std::shared_ptr<const Elements> characters_of(Run& run, const Value& value) {
  const Text& text = value.text();
  run.make((text.size() + 1) * sizeof(size_t));
  const std::vector<size_t> offsets = code_point_offsets(text.bytes());
  run.step(64 * offsets.size());
  run.make(offsets.size() * (sizeof(Value) + sizeof(Text)));
  Elements characters;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    characters.emplace_back(text.part(offsets[i], offsets[i + 1] - offsets[i]));
  }
  return std::make_shared<const Elements>(std::move(characters));
}

}  // namespace

const Value* find_entry(Run& run, const Value& mapping, const Value& key) {
  for (const auto& [own_key, value] : mapping.entries()) {
    if (are_equal(run, own_key, key)) return &value;
  }
  return nullptr;
}

const Value* find_entry(Run& run, const Entries& entries, std::string_view key) {
  run.step(entries.size());
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return entry.first.is_string() && entry.first.string() == key;
  });
  return found == entries.end() ? nullptr : &found->second;
}

Value own_attribute(Run& run, const Value& object, const std::string& name) {
  if (object.is<Undefined>()) run.fail("a member of an undefined value: " + name.substr(0, 100));
  return kind_attribute(run, object, name).value_or(Value());
}

Value attribute(Run& run, const Value& object, const std::string& name) {
  if (object.is<Undefined>()) run.fail("a member of an undefined value: " + name.substr(0, 100));
  if (auto own = kind_attribute(run, object, name)) return *std::move(own);
  if (!object.is<Mapping>()) return {};
  const Value* found = find_entry(run, object.entries(), name);
  return found != nullptr ? *found : Value();
}

Value item(Run& run, const Value& object, const Value& key) {
  if (object.is<Undefined>()) run.fail("a member of an undefined value");
  if (object.is<Mapping>()) {
    const Value* found = key.is_string() ? find_entry(run, object.entries(), key.string())
                                         : find_entry(run, object, key);
    if (found != nullptr) return *found;
  }
  if (key.is_string()) return own_attribute(run, object, key.string());
  const auto position = as_integer(key);
  const bool has_positions = object.is_string() || object.is<List>();
  return position && has_positions ? element_at(run, object, *position) : Value();
}

Value item_at_path(Run& run, const Value& object, const Value& path, const Value& stand_in) {
  if (path.is<None>() || path.is<Undefined>()) return object;
  if (!path.is_string()) {
    const Value found = item(run, object, path);
    return found.is<Undefined>() && !stand_in.is<None>() ? stand_in : found;
  }
  Value value = object;
  std::string_view rest = path.string();
  while (true) {
    const std::string_view part = rest.substr(0, rest.find('.'));
    int64_t position = 0;
    const auto read = std::from_chars(part.data(), part.data() + part.size(), position);
    const bool is_position = !part.empty() && part[0] != '-' && read.ec == std::errc() &&
                             read.ptr == part.data() + part.size();
    value = item(run, value, is_position ? Value(position) : Value(std::string(part)));
    if (value.is<Undefined>() && !stand_in.is<None>()) value = stand_in;
    if (part.size() == rest.size()) return value;
    rest.remove_prefix(part.size() + 1);
  }
}

Value slice(Run& run, const Value& object, const SliceBounds& bounds) {
  if (object.is_string()) return slice_string(run, object, bounds);
  const bool has_slices = object.is<List>() && object.as<List>().kind <= ListKind::kRange;
  if (!has_slices) run.fail("a slice of " + std::string(object.kind()));
  const auto size = static_cast<int64_t>(object.elements().size());
  const ListKind kind = object.as<List>().kind;
  Elements elements;
  visit_positions(resolve(run, bounds, size), size,
                  [&](size_t at) { elements.push_back(object.elements()[at]); });
  return make_list(run, std::move(elements), kind == ListKind::kGroup ? ListKind::kTuple : kind);
}

bool is_iterable(const Value& value) {
  return value.is<Undefined>() || value.is_string() || value.is<List>() || value.is<Mapping>() ||
         value.is<Iterator>() || value.is<Loop>();
}

std::shared_ptr<const Elements> elements_of(Run& run, const Value& value) {
  if (value.is<Undefined>()) return std::make_shared<const Elements>();
  if (value.is<List>()) return value.as<List>().elements;
  if (value.is_string()) return characters_of(run, value);
  Elements elements;
  if (value.is<Iterator>()) {
    IteratorState& state = *value.as<Iterator>().state;
    run.make((state.elements.size() - state.at) * sizeof(Value));
    elements.assign(state.elements.begin() + static_cast<ptrdiff_t>(state.at),
                    state.elements.end());
    state.at = state.elements.size();
  } else if (value.is<Mapping>()) {
    run.make(value.entries().size() * sizeof(Value));
    for (const auto& [key, entry] : value.entries()) elements.push_back(key);
  } else {
    run.fail("elements of " + std::string(value.kind()) + ", wanted a list");
  }
  return std::make_shared<const Elements>(std::move(elements));
}

int64_t length(Run& run, const Value& value) {
  if (value.is<Undefined>()) return 0;
  if (value.is<List>()) return static_cast<int64_t>(value.elements().size());
  if (value.is<Mapping>()) return static_cast<int64_t>(value.entries().size());
  if (value.is<Loop>()) return value.as<Loop>().state->length();
  if (!value.is_string()) run.fail("length of " + std::string(value.kind()));
  run.step(value.string().size());
  return static_cast<int64_t>(n_code_points(value.string()));
}

}  // namespace slip::jinja
