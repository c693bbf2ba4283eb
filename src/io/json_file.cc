#include "io/json_file.h"

#include <cerrno>
#include <set>
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

// Watches the parser's events for what a finished json value no longer shows: repeated keys, and
// depth before memory has been spent on it.
class JsonGuard {
 public:
  explicit JsonGuard(const std::string& origin) : origin_(origin) {}

  // depth: number of arrays and objects around the event.
  void check(int depth, json::parse_event_t event, const json& parsed) {
    switch (event) {
      case json::parse_event_t::object_start:
        refuse_beyond_limit(depth + 1);
        keys_.emplace_back();
        return;
      case json::parse_event_t::array_start:
        refuse_beyond_limit(depth + 1);
        return;
      case json::parse_event_t::object_end:
        keys_.pop_back();
        return;
      case json::parse_event_t::key:
        if (!keys_.back().insert(parsed.get<std::string>()).second) {
          refuse(origin_, "key " + quote(parsed.get_ref<const std::string&>()) + " is given twice");
        }
        return;
      case json::parse_event_t::array_end:
      case json::parse_event_t::value:
        return;
    }
  }

 private:
  void refuse_beyond_limit(int depth) const {
    if (depth <= kJsonDepthMax) return;
    refuse(origin_, "nested deeper than " + std::to_string(kJsonDepthMax));
  }

  const std::string& origin_;
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
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
  const auto callback = [&guard](int depth, json::parse_event_t event, json& parsed) {
    guard.check(depth, event, parsed);
    return true;
  };
  try {
    return json::parse(text, callback);
  } catch (const json::parse_error& error) {
    refuse(origin, "not JSON at byte " + std::to_string(error.byte));
  } catch (const json::out_of_range&) {
    refuse(origin, "a number that no double can hold");
  }
}

std::string quote(std::string_view text) {
  constexpr size_t kBytesMax = 200;
  const bool is_long = text.size() > kBytesMax;
  const json shown = std::string(text.substr(0, kBytesMax)) + (is_long ? "..." : "");
  return shown.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
}

}  // namespace slip
