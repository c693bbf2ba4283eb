// Small models of every kind of layer, and contract cases made of them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backend/testing/contract_fixture.h"
#include "backend/testing/random_model.h"
#include "io/model_file.h"

namespace slip::contract {

// Grouped heads on both sides, three delta-net layers to one of attention, a token that is NaN.
RandomModelOptions grouped_model();

// One KV head for six query heads, more than one strip of value columns, attention first and last,
// a tied head.
RandomModelOptions tied_model();

// Two of five experts and a shared one in every layer; a row that is NaN has to choose as well.
RandomModelOptions experts_model();

// Written and mapped when it is first asked for; the files are gone at once, the mapping stays.
const ModelFile& file_of(const RandomModelOptions& model);

using LoadRunner = std::function<std::unique_ptr<Runner>(const ModelFile&, const RunnerOptions&)>;
ContractCase make_case(const std::string& name, const RandomModelOptions& model,
                       const LoadRunner& load);

}  // namespace slip::contract
