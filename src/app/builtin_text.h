// A fixed text for judging a model where the user gives none: ordinary code and
// prose. It begins with a little of both.
#pragma once

#include <string_view>

namespace slip {

// About two and a half thousand characters, ASCII. Changing it changes the figures that `inspect`
// and `convert` print.
std::string_view builtin_text();

}  // namespace slip
