#include "app/model_path.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "io/json_file.h"

namespace slip {

namespace {

namespace fs = std::filesystem;

constexpr size_t kCommitBytesMax = 256;

struct HubName {
  std::string organisation, name, revision;
};

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !text.empty() && text != "." && text != ".." &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

// A revision may be "refs/pr/1": names between slashes.
bool is_revision(std::string_view text) {
  while (true) {
    const size_t slash = text.find('/');
    if (!is_name(text.substr(0, slash))) return false;
    if (slash == std::string_view::npos) return true;
    text.remove_prefix(slash + 1);
  }
}

std::optional<HubName> parse_hub_name(const std::string& model) {
  const size_t at = model.find('@');
  const std::string full = model.substr(0, at);
  const size_t slash = full.find('/');
  if (slash == std::string::npos) return std::nullopt;
  HubName hub{.organisation = full.substr(0, slash),
              .name = full.substr(slash + 1),
              .revision = at == std::string::npos ? "main" : model.substr(at + 1)};
  const bool is_good = is_name(hub.organisation) && is_name(hub.name) && is_revision(hub.revision);
  return is_good ? std::optional(hub) : std::nullopt;
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

std::string read_commit(const fs::path& path) {
  std::string commit = read_text_file(path);
  commit.erase(commit.find_last_not_of(" \t\r\n") + 1);
  if (commit.size() > kCommitBytesMax || !is_name(commit)) {
    throw Error(ErrorCode::kCorruptFile,
                path.string() + ": found " + quote(commit) + ", wanted the name of a commit");
  }
  return commit;
}

[[noreturn]] void refuse(const std::string& model, const std::string& looked_at) {
  throw Error(ErrorCode::kNotFound, "found no model " + quote(model) + ", looked at " + looked_at);
}

// What to say of the snapshots in `folder` where none of them was meant; "" where there is none.
std::string describe_snapshots(const fs::path& folder, const HubName& hub) {
  constexpr size_t kShown = 3;
  std::vector<std::string> commits;
  std::error_code error;
  for (fs::directory_iterator it(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (is_folder(it->path())) commits.push_back(it->path().filename().string());
  }
  if (commits.empty()) return "";
  std::ranges::sort(commits);
  std::string list;
  for (size_t i = 0; i < std::min(commits.size(), kShown); ++i)
    list += (list.empty() ? "" : ", ") + commits[i];
  if (commits.size() > kShown) list += ", ...";
  return "; the cache has snapshots of it: " + list + "; one is named as " + hub.organisation +
         "/" + hub.name + "@" + commits.front();
}

}  // namespace

std::optional<fs::path> hub_cache(const Environment& environment) {
  if (environment.hf_hub_cache) return *environment.hf_hub_cache;
  if (environment.hf_home) return fs::path(*environment.hf_home) / "hub";
  if (environment.xdg_cache_home)
    return fs::path(*environment.xdg_cache_home) / "huggingface" / "hub";
  if (environment.home) return fs::path(*environment.home) / ".cache" / "huggingface" / "hub";
  return std::nullopt;
}

fs::path find_model(const std::string& model, const Environment& environment) {
  if (is_folder(model)) return model;
  const std::string folder = "the folder " + model;
  const std::optional<HubName> hub = parse_hub_name(model);
  if (!hub) refuse(model, folder + " (the name of a cached model would be ORG/NAME)");
  const std::optional<fs::path> cache = hub_cache(environment);
  if (!cache) refuse(model, folder + "; no variable names a Hugging Face cache");

  const fs::path entry = *cache / ("models--" + hub->organisation + "--" + hub->name);
  const fs::path ref = entry / "refs" / hub->revision;
  std::error_code ignored;
  const bool has_ref = fs::is_regular_file(ref, ignored);
  fs::path snapshot = entry / "snapshots" / (has_ref ? read_commit(ref) : hub->revision);
  if (is_folder(snapshot)) return snapshot;
  refuse(model, folder + ", " + ref.string() + " and " + snapshot.string() +
                    describe_snapshots(entry / "snapshots", *hub));
}

}  // namespace slip
