// Three kinds of trouble, one treatment each: an expected outcome is a value, a failure of the
// world is an Error, a mistake of ours is SLIP_CHECK (base/check.h).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace slip {

enum class ErrorCode {
  kInvalidArgument,     // a flag, a field or a request that cannot mean anything
  kNotFound,            // a file or folder that is not there
  kCorruptFile,         // a file whose bytes contradict themselves
  kUnsupportedModel,    // a sound model that this program cannot run
  kInsufficientMemory,  // the plan has no room for this request
  kDevice,              // the device failed
  kOutputFailed,        // stdout or a file cannot be written
  kNonFiniteLogits,     // the model produced no usable distribution
};

// The spelling used in JSON and logs: "invalid_argument", "not_found", ...
std::string_view name(ErrorCode code);

// The world failed. The message names the thing, the value found and the value wanted. Caught at
// the thread roots and nowhere else.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& what) : std::runtime_error(what), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// Error{kCorruptFile}, "ORIGIN: REASON".
[[noreturn]] inline void refuse_file(const std::string& origin, const std::string& reason) {
  throw Error(ErrorCode::kCorruptFile, origin + ": " + reason);
}

}  // namespace slip
