#include "base/json.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace slip {
namespace {

using nlohmann::json;

// Builds the value while its bounds are watched, so that nothing beyond them is ever allocated. The
// library's own callback could watch, too, but takes time that is quadratic in the length of an
// array.
class GuardedBuilder : public json::json_sax_t {
 public:
  explicit GuardedBuilder(const std::string& origin) : origin_(origin) {}

  json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(json::number_integer_t value) override { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) override { return add(value); }
  bool number_float(json::number_float_t value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t& value) override { return add(std::move(value)); }
  bool start_object(size_t) override { return open(json::value_t::object); }
  bool start_array(size_t) override { return open(json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    const auto [element, is_new] = open_.back()->get_ref<json::object_t&>().try_emplace(key);
    if (!is_new) refuse("key " + quote(key) + " is given twice");
    element_ = &element->second;
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const json::exception& error) override {
    constexpr int kNumberOverflow = 406;  // of the library's list of exceptions
    if (error.id == kNumberOverflow) refuse("a number that no double can hold");
    refuse("not JSON at byte " + std::to_string(byte));
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const { refuse_file(origin_, reason); }

  // Puts `value` where the text is: behind the last element, at the last key, or at the root.
  bool add(json value) {
    if (++n_values_ > kJsonValuesMax)
      refuse("more than " + std::to_string(kJsonValuesMax) + " values");
    if (!open_.empty() && open_.back()->is_array()) {
      element_ = &open_.back()->get_ref<json::array_t&>().emplace_back();
    }
    *element_ = std::move(value);
    return true;
  }
  bool open(json::value_t type) {
    if (open_.size() == kJsonDepthMax)
      refuse("nested deeper than " + std::to_string(kJsonDepthMax));
    add(json(type));
    open_.push_back(element_);
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& origin_;
  json root_;
  json* element_ = &root_;   // where the next value goes, unless into an array
  std::vector<json*> open_;  // outermost first; none moves while one inside it is open
  size_t n_values_ = 0;
};

}  // namespace

json parse_json(std::string_view text, const std::string& origin) {
  GuardedBuilder builder(origin);
  json::sax_parse(text, &builder);
  return builder.take();
}

std::string quote(std::string_view text) {
  constexpr size_t kBytesMax = 200;
  const bool is_long = text.size() > kBytesMax;
  const json shown = std::string(text.substr(0, kBytesMax)) + (is_long ? "..." : "");
  return shown.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

}  // namespace slip
