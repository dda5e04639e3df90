// How many error codes there are, for tables with a place for each.
#pragma once

#include <cstddef>

#include "base/error_codes.h"

namespace queen {

namespace internal {
#define QUEEN_COUNT_CODE(id, name, sqlstate, http, retryable, text) id,
enum class CountedCode { QUEEN_ERROR_CODES(QUEEN_COUNT_CODE) kCount };
#undef QUEEN_COUNT_CODE
}  // namespace internal

inline constexpr auto kCodeCount = static_cast<size_t>(internal::CountedCode::kCount);

}  // namespace queen
