#include "io/json_file.h"

#include <cerrno>
#include <unordered_set>
#include <utility>
#include <vector>

#include <unistd.h>

#include "base/error.h"
#include "io/regular_file.h"

namespace slip {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& origin, const std::string& reason) {
  throw Error(ErrorCode::kCorruptFile, origin + ": " + reason);
}

// Reads a text for what a finished json value no longer shows: repeated keys, and depth and number
// of values before memory has been spent on them. A pass of its own: the library's callback, which
// could do the same while values are built, takes time that is quadratic in the length of an array.
class JsonGuard : public json::json_sax_t {
 public:
  explicit JsonGuard(const std::string& origin) : origin_(origin) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(json::number_integer_t) override { return count(); }
  bool number_unsigned(json::number_unsigned_t) override { return count(); }
  bool number_float(json::number_float_t, const std::string&) override { return count(); }
  bool string(std::string&) override { return count(); }
  bool binary(json::binary_t&) override { return count(); }
  bool start_object(size_t) override {
    keys_.emplace_back();
    return open();
  }
  bool end_object() override {
    keys_.pop_back();
    return close();
  }
  bool start_array(size_t) override { return open(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    if (!keys_.back().insert(key).second) refuse(origin_, "key " + quote(key) + " is given twice");
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const json::exception& error) override {
    constexpr int kNumberOverflow = 406;  // of the library's list of exceptions
    if (error.id == kNumberOverflow) refuse(origin_, "a number that no double can hold");
    refuse(origin_, "not JSON at byte " + std::to_string(byte));
  }

 private:
  bool count() {
    if (++n_values_ > kJsonValuesMax)
      refuse(origin_, "more than " + std::to_string(kJsonValuesMax) + " values");
    return true;
  }
  bool open() {
    if (++depth_ > kJsonDepthMax)
      refuse(origin_, "nested deeper than " + std::to_string(kJsonDepthMax));
    return count();
  }
  bool close() {
    --depth_;
    return true;
  }

  const std::string& origin_;
  int depth_ = 0;
  size_t n_values_ = 0;
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open
};

}  // namespace

std::string read_text_file(const std::filesystem::path& path) {
  const RegularFile file(path);
  if (file.n_bytes() > kJsonFileBytesMax) {
    refuse(path.string(), std::to_string(file.n_bytes()) + " bytes, wanted at most " +
                              std::to_string(kJsonFileBytesMax));
  }
  std::string text(file.n_bytes(), '\0');
  size_t n_read = 0;
  while (n_read < text.size()) {
    const ssize_t n = read(file.descriptor(), text.data() + n_read, text.size() - n_read);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) refuse(path.string(), "ended early while it was read");
    n_read += static_cast<size_t>(n);
  }
  return text;
}

json parse_json(std::string_view text, const std::string& origin) {
  JsonGuard guard(origin);
  json::sax_parse(text, &guard);
  return json::parse(text);
}

std::string quote(std::string_view text) {
  constexpr size_t kBytesMax = 200;
  const bool is_long = text.size() > kBytesMax;
  const json shown = std::string(text.substr(0, kBytesMax)) + (is_long ? "..." : "");
  return shown.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

}  // namespace slip
