// The insides of values: members, elements, slices, lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "text/jinja_run.h"
#include "text/jinja_value.h"

namespace slip::jinja {

// The value of an entry; nullptr if there is no such key.
const Value* find_entry(Run& run, const Value& mapping, const Value& key);
const Value* find_entry(Run& run, const Entries& entries, std::string_view key);

// object.name: a method before an entry, as jinja2 looks it up. Undefined if there is neither.
Value attribute(Run& run, const Value& object, const std::string& name);
// object.name, but never an entry of a mapping.
Value own_attribute(Run& run, const Value& object, const std::string& name);
// object[key]: an entry or element before a method. Undefined if there is neither.
Value item(Run& run, const Value& object, const Value& key);
// object[a][b]... for "a.b", as the `attribute` parameters of filters spell it; the object itself
// for none. `stand_in` replaces what is undefined on the way.
Value item_at_path(Run& run, const Value& object, const Value& path, const Value& stand_in);

struct SliceBounds {
  Value start, stop, step;  // none: left out
};
Value slice(Run& run, const Value& object, const SliceBounds& bounds);

// What `for` sees: characters, elements, keys. Uses up an iterator. Fails for what cannot be
// iterated over.
std::shared_ptr<const Elements> elements_of(Run& run, const Value& value);
bool is_iterable(const Value& value);

// len(value)
int64_t length(Run& run, const Value& value);

}  // namespace slip::jinja
