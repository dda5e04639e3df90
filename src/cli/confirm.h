// Asking before something cannot be undone.
#pragma once

#include <string>

namespace queen::cli {

// True with `yes`. Otherwise asks on the terminal; without one, says that --yes is needed.
bool Confirmed(const std::string& what, bool yes);

}  // namespace queen::cli
