// From where a broker can be reached, by the addresses it is told to listen on.
#pragma once

#include <string_view>

namespace queen::config {

// Whether any of these addresses (HOST) is reached from other machines. A name is taken for one of
// this machine only if it is localhost: what others mean is up to somebody else's name server.
bool IsReachedFromElsewhere(std::string_view hosts);

}  // namespace queen::config
