// Any bytes as a model's output, cut anywhere: all of it is told, and the cuts make no difference.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "text/output_parser.h"
#include "text/stop_matcher.h"
#include "text/testing/output_events.h"

namespace slip {
namespace {

const nlohmann::ordered_json& tools() {
  static const auto tools = nlohmann::ordered_json::parse(R"([{"type": "function", "function": {
      "name": "f", "parameters": {"properties": {
          "s": {"type": "string"}, "i": {"type": "integer"}, "b": {"type": "boolean"},
          "o": {"type": ["object", "null"]}, "u": {"anyOf": [{"type": "array"}, {"type": "string"}]},
          "x": {}}}}}])");
  return tools;
}

// Pieces of 1 to 16 bytes, by a generator that `seed` starts.
std::vector<std::string_view> cut(std::string_view text, uint32_t seed) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    seed = seed * 1664525 + 1013904223;
    const size_t n_bytes = std::min<size_t>(text.size(), 1 + (seed >> 28));
    pieces.push_back(text.substr(0, n_bytes));
    text.remove_prefix(n_bytes);
  }
  return pieces;
}

void parse(std::string_view output, const std::vector<std::string_view>& pieces, uint8_t flags) {
  const OutputParserOptions options = {.starts_in_reasoning = (flags & 1) != 0,
                                       .reads_tool_calls = (flags & 2) == 0,
                                       .tools = tools()};
  const std::vector<OutputEvent> events = test::parse_pieces(options, pieces);
  test::OutputAccount account(output, options.starts_in_reasoning);
  SLIP_CHECK(account.check(events).empty());
  SLIP_CHECK(test::describe(events) == test::describe(test::parse_pieces(options, {output})));
}

void match_stops(std::string_view output, const std::vector<std::string_view>& pieces) {
  StopMatcher whole({"</tool_call>", "\n\n", "aba", "abaaba"});
  StopMatcher cut = whole;
  std::string text_whole;
  std::string text_cut;
  whole.push(output, text_whole);
  whole.finish(text_whole);
  for (const std::string_view piece : pieces) cut.push(piece, text_cut);
  cut.finish(text_cut);
  SLIP_CHECK(text_whole == text_cut && output.starts_with(text_cut));
  SLIP_CHECK(text_cut.size() == (cut.match() ? cut.match()->begin : output.size()));
}

}  // namespace
}  // namespace slip

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view output(reinterpret_cast<const char*>(data + 2), size - 2);
  const auto pieces = slip::cut(output, data[1]);
  slip::parse(output, pieces, data[0]);
  slip::match_stops(output, pieces);
  return 0;
}
