// What fails is tried again after a pause that grows.
#pragma once

#include <algorithm>
#include <cstdint>

namespace queen::sidecar {

// Behind a pause of `last_ms`, 0 = none yet.
inline int64_t NextPause(int64_t last_ms) { return std::clamp<int64_t>(last_ms * 2, 1, 100); }

}  // namespace queen::sidecar
