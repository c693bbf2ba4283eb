// Where the tests of files look for it.
#pragma once

#include "base/testing/expect_error.h"
