#include "base/process_memory.h"

#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "base/error.h"

namespace slip {

namespace {

// The bytes of a line like "VmHWM:     3060 kB".
std::optional<int64_t> find_bytes(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == key + ":" && file >> kib) return kib * 1024;
  }
  return std::nullopt;
}

int64_t read_status(const std::string& key) {
  constexpr const char* kPath = "/proc/self/status";
  if (const std::optional<int64_t> found = find_bytes(kPath, key)) return *found;
  throw Error(ErrorCode::kDevice,
              std::string(kPath) + ": found no line " + key + ", wanted its size in kB");
}

}  // namespace

int64_t available_memory_bytes() {
  return find_bytes("/proc/meminfo", "MemAvailable").value_or(std::numeric_limits<int64_t>::max());
}

int64_t resident_bytes() { return read_status("VmRSS"); }

int64_t peak_resident_bytes() { return read_status("VmHWM"); }

void reset_peak_resident() {
  const char* path = "/proc/self/clear_refs";
  std::ofstream file(path);
  file << "5" << std::flush;  // proc(5): the peak becomes what is resident
  if (!file)
    throw Error(ErrorCode::kDevice, std::string(path) + ": cannot be written, wanted a new peak");
}

}  // namespace slip
