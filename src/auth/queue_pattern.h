// Patterns of queue names, as tokens carry them: '*' stands for any characters, dots included, and
// every other character for itself. "orders.*" is every queue that begins with "orders.", "*" is
// all of them.
#pragma once

#include <string_view>

namespace queen::auth {

bool MatchesPattern(std::string_view pattern, std::string_view queue);

}  // namespace queen::auth
