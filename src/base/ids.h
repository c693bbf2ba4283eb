// Integers that mean different things have different types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slip {

enum class TokenId : int32_t {};     // an entry of the vocabulary
enum class StateId : int32_t {};     // a sequence state that a Runner owns
enum class SequenceId : int32_t {};  // a request that the engine runs

// The id as an array index. Ids of live things are never negative.
template <class Id>
constexpr size_t index(Id id) {
  return static_cast<size_t>(id);
}

}  // namespace slip
