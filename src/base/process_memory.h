// What the system says of memory: of this process, and what is left.
#pragma once

#include <cstdint>

namespace slip {

// What new buffers can have before something is swapped or killed; the largest number where the
// system does not say.
int64_t available_memory_bytes();

// Of this process; multiples of a page. Each throws Error{kDevice} where the system does not say.
int64_t resident_bytes();
int64_t peak_resident_bytes();  // since the last reset_peak_resident()

void reset_peak_resident();  // to what is resident now

}  // namespace slip
