#include "backend/lane.h"

#include "base/enum_table.h"

namespace slip {

namespace {

struct RefusalName {
  LaneRefusal refusal;
  std::string_view name;
};
constexpr std::array<RefusalName, kLaneRefusalCount> kRefusalNames = {{
    {LaneRefusal::kOff, "off"},
    {LaneRefusal::kRetired, "retired"},
    {LaneRefusal::kNoKernel, "no_kernel"},
    {LaneRefusal::kShape, "shape"},
}};
static_assert(is_in_order(kRefusalNames, &RefusalName::refusal));

}  // namespace

std::string_view name(LaneClass lane_class) {
  return lane_class == LaneClass::kExact ? "exact" : "rounding";
}

std::string_view name(LaneRefusal refusal) {
  return kRefusalNames[static_cast<size_t>(refusal)].name;
}

}  // namespace slip
