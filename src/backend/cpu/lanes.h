// The lanes of the CPU: attention on the cache in a kernel's own order, and products by packed
// weights. Both fall back to portable vector kernels ("fma").
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "backend/cpu/kernels/table.h"
#include "backend/lane.h"
#include "model/config.h"

namespace slip::cpu {

inline constexpr std::string_view kPlainKernels = "fma";

class Lane {
 public:
  explicit Lane(std::string_view name) { report_.lane = name; }

  const std::string& name() const { return report_.lane; }
  bool is_on() const { return report_.is_on; }
  LaneReport report() const { return report_; }

  // Before pick().
  void set_use(std::string use) { use_ = std::move(use); }
  bool wants_plain() const { return use_ == "off" || use_ == kPlainKernels; }
  void inject() { is_injected_ = true; }

  // What the option asks for among `kernels`, best first, as an index; their size, and the lane is
  // off, where it asks for the plain path or there is nothing to choose. Throws
  // Error{kInvalidArgument} for a kernel that is not among them.
  size_t pick(std::span<const std::string_view> kernels);
  void set_class(LaneClass lane_class) { report_.lane_class = lane_class; }
  // What was found wrong, one clause: the plain path runs from now on.
  void retire(const std::string& fault);

  // The first use is a log line.
  void count_use(const LaneReceipt& receipt);
  // `why_here` counts where the lane itself is on.
  void count_refusal(LaneRefusal why_here);

  // Of an output that the lane has just computed: one element becomes wrong where a fault is
  // injected.
  void corrupt(float* output) const {
    if (is_injected_) *output = 2 * *output + 1;
  }

 private:
  std::string use_ = "on";
  bool is_injected_ = false;
  LaneRefusal why_off_ = LaneRefusal::kNoKernel;
  LaneReport report_;
};

struct Lanes {
  Lane attention{"attention"};
  Lane product{"product"};
};

// Throws Error{kInvalidArgument} for a lane that is not there.
//   injected  the lane to corrupt; empty: none
Lanes make_lanes(std::span<const LaneOption> options, const std::string& injected);

// The kernel for such a cache, checked against the plain one in the model's own head size and
// group; the plain one where the lane is off or the check fails.
const AttentionKernel& choose_attention(const KernelTable& table, const AttentionConfig& config,
                                        DType type, Lane& lane);

}  // namespace slip::cpu
