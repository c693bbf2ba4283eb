// The backends that this program was built with; the only place that knows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "backend/backend.h"

namespace slip {

std::span<const Backend> compiled_backends();

struct DeviceChoice {
  const Backend& backend;
  int32_t index;  // among devices of its kind
};

// A value of --device: "cpu", "cuda", "cuda:1". Throws Error{kInvalidArgument} listing the names
// there are.
DeviceChoice find_device(std::string_view device);

// For work that only the CPU does. Throws Error{kInvalidArgument} for any other device.
void require_cpu(std::string_view device);

}  // namespace slip
