// `queen token create | list | revoke`: the tokens that need no issuer. It works on the database
// itself: whoever may change that may do everything anyhow, and the first token has to come from
// somewhere. Of a broker with a PostgreSQL of its own it uses the one that runs, or starts it for
// the purpose.
#pragma once

#include "config/command_line.h"

namespace queen::server {

// The exit code of the process. A token that was made is all that is on standard output.
int RunToken(const config::Config& config, const config::TokenArguments& arguments);

}  // namespace queen::server
