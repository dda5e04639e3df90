// Reading what a client sent to PostgreSQL: enough of the frontend protocol to count messages.
#pragma once

#include <string>
#include <string_view>

namespace queen::pg::testing {

// The type letters of the messages in `bytes`, in order, such as "PBDES"; a '?' at the end when the
// last message is not whole. REQUIRES: begins at a message, after the startup packet
std::string MessageTypes(std::string_view bytes);

}  // namespace queen::pg::testing
