// The libpq connection string of the configured server.
#pragma once

#include <string>

#include "config/config.h"

namespace queen::config {

// DATABASE_URL as it is, else built from PG_*. Secret: it may hold a password.
// REQUIRES: !config.uses_embedded()
std::string Conninfo(const Config& config);

}  // namespace queen::config
