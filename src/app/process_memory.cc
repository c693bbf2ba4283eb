#include "app/process_memory.h"

#include <fstream>
#include <string>

#include "base/error.h"

namespace slip {

namespace {

// The number of a line like "VmHWM:     3060 kB".
int64_t read_kib(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    int64_t kib = 0;
    if (word == key + ":" && file >> kib) return kib * 1024;
  }
  throw Error(ErrorCode::kDevice, path + ": found no line " + key + ", wanted its size in kB");
}

}  // namespace

int64_t available_memory_bytes() { return read_kib("/proc/meminfo", "MemAvailable"); }

int64_t resident_bytes() { return read_kib("/proc/self/status", "VmRSS"); }

int64_t peak_resident_bytes() { return read_kib("/proc/self/status", "VmHWM"); }

void reset_peak_resident() {
  const char* path = "/proc/self/clear_refs";
  std::ofstream file(path);
  file << "5" << std::flush;  // proc(5): the peak becomes what is resident
  if (!file)
    throw Error(ErrorCode::kDevice, std::string(path) + ": cannot be written, wanted a new peak");
}

}  // namespace slip
