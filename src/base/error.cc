#include "base/error.h"

#include "base/check.h"

namespace slip {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kCorruptFile:
      return "corrupt_file";
    case ErrorCode::kUnsupportedModel:
      return "unsupported_model";
    case ErrorCode::kInsufficientMemory:
      return "insufficient_memory";
    case ErrorCode::kDevice:
      return "device";
    case ErrorCode::kOutputFailed:
      return "output_failed";
    case ErrorCode::kNonFiniteLogits:
      return "non_finite_logits";
  }
  SLIP_CHECK(false);
}

}  // namespace slip
