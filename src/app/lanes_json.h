// Lanes as `inspect --json` and `generate --json` show them.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "backend/lane.h"

namespace slip {

nlohmann::ordered_json lanes_json(const std::vector<LaneReport>& lanes);

}  // namespace slip
