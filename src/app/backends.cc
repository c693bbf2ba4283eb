#include "app/backends.h"

#include <charconv>
#include <optional>
#include <string>

#include "backend/cpu/cpu_runner.h"
#if defined(SLIP_HAS_CUDA)
#include "backend/cuda/cuda_runner.h"
#endif
#include "base/error.h"

namespace slip {
namespace {

[[noreturn]] void refuse(std::string_view device, const std::string& wanted) {
  throw Error(ErrorCode::kInvalidArgument,
              "--device: found \"" + std::string(device) + "\", wanted " + wanted);
}

std::optional<int32_t> parse_index(std::string_view text) {
  int32_t index = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, index);
  if (error != std::errc() || at != end || index < 0) return std::nullopt;
  return index;
}

std::string known_names() {
  std::string names;
  for (const Backend& backend : compiled_backends()) {
    names += (names.empty() ? "" : ", ") + std::string(backend.name);
    if (backend.has_several) names += "[:N]";
  }
#if !defined(SLIP_HAS_CUDA)
  names += " (this program was built without CUDA)";
#endif
  return names;
}

}  // namespace

std::span<const Backend> compiled_backends() {
  static constexpr Backend kBackends[] = {
    {"cpu", false, cpu::load_runner},  // always present, works everywhere
#if defined(SLIP_HAS_CUDA)
    {"cuda", true, cuda::load_runner},
#endif
  };
  return kBackends;
}

DeviceChoice find_device(std::string_view device) {
  const size_t colon = device.find(':');
  const std::string_view name = device.substr(0, colon);
  for (const Backend& backend : compiled_backends()) {
    if (backend.name != name) continue;
    if (colon == std::string_view::npos) return {backend, 0};
    const std::optional<int32_t> index = parse_index(device.substr(colon + 1));
    if (backend.has_several && index) return {backend, *index};
  }
  refuse(device, "one of: " + known_names());
}

void require_cpu(std::string_view device) {
  if (find_device(device).backend.name == "cpu") return;
  refuse(device, "cpu: this measures kernels of the CPU alone");
}

}  // namespace slip
