#include "config/version.h"

namespace queen::config {

std::string_view Version() { return QUEEN_VERSION; }

}  // namespace queen::config
