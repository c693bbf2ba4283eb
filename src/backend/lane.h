// Lanes: fast paths of a device, each beside a plain path that defines what it computes. A lane is
// checked against the plain path when a model is loaded, counts what it did and what it left to the
// plain path and why, and can be switched off.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace slip {

enum class LaneClass : uint8_t {
  kExact,     // differs from the plain path in the order of additions at most
  kRounding,  // rounds what the plain path does not
};
std::string_view name(LaneClass lane_class);

// Why an operation took the plain path.
enum class LaneRefusal : uint8_t {
  kOff,       // as asked
  kRetired,   // the self-check found the lane wrong
  kNoKernel,  // the kernel table has nothing for this type of data
  kShape,     // it has, but not for these sizes
};
inline constexpr int kLaneRefusalCount = 4;
std::string_view name(LaneRefusal refusal);

// How to run a lane.
struct LaneOption {
  std::string lane;
  std::string use;  // "on": the best kernel; "off": the plain path; or a kernel's name
};

// How the last operation on a lane was cut.
struct LaneReceipt {
  int32_t n_rows = 0;
  // Of attention, 0 elsewhere: query heads that read the cache together, in how many passes over
  // the KV heads' caches that made.
  int32_t heads_per_chunk = 0, n_chunks = 0, n_kv_heads = 0;
};

struct LaneReport {
  std::string lane;
  std::string kernel;  // what runs, the plain path's name where the lane is not on
  bool is_on = false;
  LaneClass lane_class = LaneClass::kExact;
  std::string why_not;  // why it is not on, one clause; empty where it is
  int64_t n_used = 0;   // operations
  std::array<int64_t, kLaneRefusalCount> n_refused{};  // operations, by LaneRefusal
  LaneReceipt receipt;
};

}  // namespace slip
