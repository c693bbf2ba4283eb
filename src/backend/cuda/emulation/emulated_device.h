// What tests ask of the emulated device.
#pragma once

#include <cstdint>

namespace slip::cuda::emulation {

// The next `n` allocations succeed, those after them are refused. -1: all succeed.
void fail_allocations_after(int64_t n);

}  // namespace slip::cuda::emulation
