// What OpenSSL says of a failure on this thread.
#pragma once

#include <string>

namespace queen::tls {

// For people, "unknown error" where it says nothing. Empties the thread's queue of errors.
std::string TakeError();

// Whether the last failure is `reason` of libssl. Leaves the queue as it is.
bool LastErrorIs(int reason);

}  // namespace queen::tls
