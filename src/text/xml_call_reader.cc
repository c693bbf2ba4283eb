#include "text/xml_call_reader.h"

#include <algorithm>
#include <utility>

#include "text/argument_value.h"
#include "text/json_scanner.h"

namespace slip {
namespace {

constexpr std::string_view kFunctionBegin = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameterBegin = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";

std::string_view without_frame(std::string_view value) {
  if (value.starts_with('\n')) value.remove_prefix(1);
  if (value.ends_with('\n')) value.remove_suffix(1);
  return value;
}

}  // namespace

// What may stand at at_, the likeliest first.
std::span<const XmlCallReader::Rule> XmlCallReader::rules_at(Place place) {
  using Reader = XmlCallReader;
  static constexpr Rule kHeader[] = {&Reader::read_function};
  static constexpr Rule kBody[] = {&Reader::read_first_parameter,
                                   &Reader::read_end_without_parameters};
  static constexpr Rule kValue[] = {&Reader::read_next_parameter, &Reader::read_end,
                                    &Reader::read_quoted_begin};
  static constexpr Rule kQuotedCall[] = {&Reader::read_quoted_begin, &Reader::read_quoted_end};
  switch (place) {
    case Place::kHeader:
      return kHeader;
    case Place::kBody:
      return kBody;
    case Place::kValue:
      return kValue;
    case Place::kQuotedCall:
      return kQuotedCall;
    case Place::kEnd:
      break;
  }
  return {};
}

CallStatus XmlCallReader::advance(std::string_view text) {
  while (place_ != Place::kEnd) {
    const bool in_value = place_ == Place::kValue || place_ == Place::kQuotedCall;
    if (in_value) {
      at_ = std::min(text.find('<', at_), text.size());
      if (at_ == text.size()) return CallStatus::kNeedsMore;
    }
    TagMatch match = TagMatch::kNo;
    for (const Rule rule : rules_at(place_)) {
      match = std::max(match, (this->*rule)(text));
      if (match == TagMatch::kYes) break;
    }
    if (match == TagMatch::kMaybe) return CallStatus::kNeedsMore;
    if (match == TagMatch::kNo && !in_value) return CallStatus::kBroken;
    if (match == TagMatch::kNo) ++at_;  // a `<` of the value
  }
  return CallStatus::kComplete;
}

TagMatch XmlCallReader::read_function(std::string_view text) {
  TagReading reading(text, at_);
  reading.gap().literal(kFunctionBegin).name(function_);
  if (reading.match() == TagMatch::kYes) {
    at_ = reading.at();
    place_ = Place::kBody;
  }
  return reading.match();
}

TagMatch XmlCallReader::read_first_parameter(std::string_view text) {
  std::string name;
  TagReading reading(text, at_);
  reading.gap().literal(kParameterBegin).name(name);
  if (reading.match() == TagMatch::kYes) open_parameter(std::move(name), reading.at());
  return reading.match();
}

TagMatch XmlCallReader::read_end_without_parameters(std::string_view text) {
  TagReading reading(text, at_);
  reading.gap().literal(kFunctionEnd).gap().literal(kToolCallEnd);
  if (reading.match() == TagMatch::kYes) {
    at_ = reading.at();
    place_ = Place::kEnd;
  }
  return reading.match();
}

TagMatch XmlCallReader::read_next_parameter(std::string_view text) {
  std::string name;
  TagReading reading(text, at_);
  reading.literal(kParameterEnd).gap().literal(kParameterBegin).name(name);
  if (reading.match() != TagMatch::kYes) return reading.match();
  if (names_.contains(name)) return TagMatch::kNo;
  parameters_.back().end = at_;
  open_parameter(std::move(name), reading.at());
  return TagMatch::kYes;
}

TagMatch XmlCallReader::read_end(std::string_view text) {
  TagReading reading(text, at_);
  reading.literal(kParameterEnd).gap().literal(kFunctionEnd).gap().literal(kToolCallEnd);
  if (reading.match() == TagMatch::kYes) {
    parameters_.back().end = at_;
    at_ = reading.at();
    place_ = Place::kEnd;
  }
  return reading.match();
}

TagMatch XmlCallReader::read_quoted_begin(std::string_view text) {
  std::string name;
  TagReading reading(text, at_);
  reading.literal(kToolCallBegin).gap().literal(kFunctionBegin).name(name);
  if (reading.match() == TagMatch::kYes) {
    at_ = reading.at();
    ++n_quoted_;
    place_ = Place::kQuotedCall;
  }
  return reading.match();
}

TagMatch XmlCallReader::read_quoted_end(std::string_view text) {
  TagReading reading(text, at_);
  reading.literal(kFunctionEnd).gap().literal(kToolCallEnd);
  if (reading.match() == TagMatch::kYes) {
    at_ = reading.at();
    if (--n_quoted_ == 0) place_ = Place::kValue;
  }
  return reading.match();
}

void XmlCallReader::open_parameter(std::string name, size_t begin) {
  names_.insert(name);
  parameters_.push_back({std::move(name), begin, begin});
  at_ = begin;
  place_ = Place::kValue;
}

ToolCall XmlCallReader::call(std::string_view text, const nlohmann::ordered_json& tools) const {
  const nlohmann::ordered_json* schema = find_parameters(tools, function_);
  std::string arguments = "{";
  for (const auto& [name, begin, end] : parameters_) {
    if (arguments.size() > 1) arguments += ", ";
    arguments += json_string(name) + ": ";
    arguments += argument_json(without_frame(text.substr(begin, end - begin)), name, schema);
  }
  arguments += "}";
  return {function_, std::move(arguments)};
}

}  // namespace slip
