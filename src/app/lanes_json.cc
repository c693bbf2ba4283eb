#include "app/lanes_json.h"

#include <string>

namespace slip {

namespace {

using Json = nlohmann::ordered_json;

Json receipt_json(const LaneReceipt& receipt, bool is_engaged) {
  Json json = {{"engaged", is_engaged}, {"rows", receipt.n_rows}};
  if (receipt.n_kv_heads == 0) return json;
  json["heads_per_chunk"] = receipt.heads_per_chunk;
  json["chunks"] = receipt.n_chunks;
  json["n_kv_heads"] = receipt.n_kv_heads;
  return json;
}

}  // namespace

Json lanes_json(const std::vector<LaneReport>& lanes) {
  Json json = Json::array();
  for (const LaneReport& lane : lanes) {
    Json refused = Json::object();
    for (int i = 0; i < kLaneRefusalCount; ++i) {
      const std::string reason(name(static_cast<LaneRefusal>(i)));
      refused[reason] = lane.n_refused[static_cast<size_t>(i)];
    }
    json.push_back({{"name", lane.lane},
                    {"uses", lane.kernel},
                    {"is_on", lane.is_on},
                    {"class", name(lane.lane_class)},
                    {"why_not", lane.why_not.empty() ? Json() : Json(lane.why_not)},
                    {"used", lane.n_used},
                    {"refused", refused},
                    {"last", receipt_json(lane.receipt, lane.n_used > 0)}});
  }
  return json;
}

}  // namespace slip
