#include "backend/cpu/lanes.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "backend/cpu/attention_check.h"
#include "base/error.h"
#include "base/log.h"

namespace slip::cpu {

size_t Lane::pick(std::span<const std::string_view> kernels) {
  const auto stay_plain = [&](LaneRefusal why, std::string sentence) {
    report_.kernel = kPlainKernels;
    report_.why_not = std::move(sentence);
    why_off_ = why;
    if (is_injected_) log::warning("lane {}: nothing is injected: {}", name(), report_.why_not);
    return kernels.size();
  };
  if (wants_plain()) return stay_plain(LaneRefusal::kOff, "switched off by an option");
  if (use_ == "on" && kernels.empty())
    return stay_plain(LaneRefusal::kNoKernel, "the kernel table has no other kernel");
  const auto found = use_ == "on" ? kernels.begin() : std::ranges::find(kernels, use_);
  if (found == kernels.end()) {
    std::string known = "on, off";
    for (const std::string_view kernel : kernels) known.append(", ").append(kernel);
    throw Error(ErrorCode::kInvalidArgument,
                "lane " + name() + ": found \"" + use_ + "\", wanted one of " + known + " here");
  }
  report_.is_on = true;
  report_.kernel = *found;
  return static_cast<size_t>(found - kernels.begin());
}

void Lane::retire(const std::string& fault) {
  log::warning("lane {}: kernel {} is wrong and will not run: {}", name(), report_.kernel, fault);
  report_.is_on = false;
  report_.why_not = "kernel " + report_.kernel + " failed its self-check: " + fault;
  report_.kernel = kPlainKernels;
  why_off_ = LaneRefusal::kRetired;
}

void Lane::count_use(const LaneReceipt& receipt) {
  report_.receipt = receipt;
  if (report_.n_used++ > 0) return;
  log::info("lane {}: kernel {} ({}) engaged", name(), report_.kernel,
            slip::name(report_.lane_class));
}

void Lane::count_refusal(LaneRefusal why_here) {
  ++report_.n_refused[static_cast<size_t>(is_on() ? why_here : why_off_)];
}

Lanes make_lanes(std::span<const LaneOption> options, const std::string& injected) {
  Lanes lanes;
  const std::array all = {&lanes.attention, &lanes.product};
  const auto find = [&](const std::string& wanted) -> Lane& {
    const auto found = std::ranges::find(all, wanted, &Lane::name);
    if (found != all.end()) return **found;
    std::string known;
    for (const Lane* lane : all) known.append(known.empty() ? "" : ", ").append(lane->name());
    throw Error(ErrorCode::kInvalidArgument,
                "lane: found \"" + wanted + "\", wanted one of " + known);
  };
  for (const LaneOption& option : options) find(option.lane).set_use(option.use);
  if (!injected.empty()) find(injected).inject();
  return lanes;
}

const AttentionKernel& choose_attention(const KernelTable& table, const AttentionConfig& config,
                                        DType type, Lane& lane) {
  std::vector<const AttentionKernel*> usable;
  std::vector<std::string_view> names;
  for (const AttentionKernel& kernel : table.attention) {
    if (!kernel.can(type, config.head_dim)) continue;
    usable.push_back(&kernel);
    names.push_back(kernel.name);
  }
  names.pop_back();  // the plain one is last
  const AttentionKernel& chosen = *usable[lane.pick(names)];
  if (!lane.is_on() || config.n_heads == 0) return chosen;
  lane.set_class(LaneClass::kRounding);
  const std::string fault = attention_fault(chosen, *usable.back(), config, lane);
  if (fault.empty()) return chosen;
  lane.retire(fault);
  return *usable.back();
}

}  // namespace slip::cpu
