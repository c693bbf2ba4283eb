// Any bytes are a file that may be offered: the parser gives views inside them or an Error.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/error.h"
#include "io/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  try {
    for (const auto& [name, tensor] : slip::parse_safetensors(bytes, "fuzz")) {
      const auto offset = static_cast<size_t>(tensor.data - bytes.data());
      SLIP_CHECK(offset <= size && tensor.n_bytes <= size - offset);
      SLIP_CHECK(static_cast<size_t>(tensor.n_elements()) * element_bytes(tensor.dtype) ==
                 tensor.n_bytes);
    }
  } catch (const slip::Error&) {
    return 0;  // the one way to say no
  }
  return 0;
}
