// The connection that proves a server ready: opens one as the superuser, makes the role and the
// database queen if they are missing, then opens one as queen and asks it something. Blocks, so it
// runs on a thread of libuv's pool; the rest of the broker talks to PostgreSQL through pg/.
#pragma once

#include <string>

#include "base/status.h"

namespace queen::embedded {

// "host='...' port=5432 dbname=queen user=queen", for any libpq client on this machine that runs
// as the broker's or the cluster's user.
std::string ConnInfo(const std::string& socket_directory, const std::string& role,
                     const std::string& database);

// Blocks for at most some seconds while the server does not answer.
Status MakeInitialConnection(const std::string& socket_directory);

}  // namespace queen::embedded
