// The model that comes with the program, for tests.
#pragma once

#include <string>

namespace slip::test {

inline const std::string kEmbeddedModel = SLIP_SOURCE_DIR "/models/tiny-coder";

}  // namespace slip::test
