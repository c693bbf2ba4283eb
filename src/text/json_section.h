// One object of a JSON file with its place in it: reads fields, and names what it finds wrong.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace slip {

// A key with the values that mean what is implemented; nothing listed: checked elsewhere, any value
// here.
struct Setting {
  std::string_view key;
  std::vector<nlohmann::json> allowed = {};
};

// `value` on one line, cut to a length that fits a message.
std::string shown(const nlohmann::json& value);

struct Section {
  const nlohmann::json& value;       // outlives the section
  std::string place;                 // "tokenizer.json: model.vocab"
  std::string_view separator = ".";  // between the place and what is inside

  // Throws Error{kCorruptFile}: the file contradicts itself.
  [[noreturn]] void corrupt(const std::string& what) const;
  // Throws Error{kUnsupportedModel}: the file asks for what is not implemented.
  [[noreturn]] void refuse(std::string_view key, const nlohmann::json& found) const;

  // Null counts as absent: the format writes both.
  bool has(std::string_view key) const;

  // The field of that type; corrupt() if there is none or if it has another type.
  const nlohmann::json& at(std::string_view key) const;
  const nlohmann::json& array_at(std::string_view key) const;
  std::string string_at(std::string_view key) const;
  bool flag_at(std::string_view key) const;
  // The same, but `absent` where there is no such key.
  bool flag_or(std::string_view key, bool absent) const;

  // A section for the object at `key`, or for the element `i` of the array there.
  Section child(std::string_view key) const;
  Section child(std::string_view key, size_t i) const;

  // Refuses every key that is not in `settings`, and every value that is not allowed there: the
  // file never means more than is done.
  void allow(const std::vector<Setting>& settings) const;
};

}  // namespace slip
