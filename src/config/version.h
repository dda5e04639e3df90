// The version of this build, from the top CMakeLists.txt.
#pragma once

#include <string_view>

namespace queen::config {

// Such as "0.1.0".
std::string_view Version();

}  // namespace queen::config
