#include "engine/request.h"

#include "base/check.h"

namespace slip {

std::string_view name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  SLIP_CHECK(false);
}

}  // namespace slip
