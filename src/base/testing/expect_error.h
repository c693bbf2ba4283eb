// What a test demands of a refusal: its code, and the words that tell this reason from the others.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/error.h"

namespace slip::test {

// The message of the Error that action() throws; empty where it throws none.
template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Passes if action() throws Error{code} with `words` in its message.
template <class Action>
testing::AssertionResult fails_with(ErrorCode code, std::string_view words, Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string_view message = error.what();
    if (error.code() == code && message.find(words) != std::string_view::npos) {
      return testing::AssertionSuccess();
    }
    return testing::AssertionFailure()
           << name(error.code()) << ": " << message << "; wanted " << name(code) << ": " << words;
  }
  return testing::AssertionFailure() << "no error, wanted " << name(code) << ": " << words;
}

}  // namespace slip::test
