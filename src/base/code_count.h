// How many error codes there are, for tables with a place for each.
#pragma once

#include <cstddef>

#include "base/error_codes.h"

namespace queen {

#define QUEEN_COUNT_CODE(id, name, sqlstate, http, retryable, text) +1
inline constexpr size_t kCodeCount = 0 QUEEN_ERROR_CODES(QUEEN_COUNT_CODE);
#undef QUEEN_COUNT_CODE

}  // namespace queen
