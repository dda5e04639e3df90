// `queen migrate [--print [--all]]`: brings the configured database to the schema of this binary,
// or prints the SQL that would. With the embedded cluster it is started for the purpose and
// stopped.
#pragma once

#include "config/command_line.h"

namespace queen::server {

// The exit code of the process.
int RunMigrate(const config::Config& config, const config::MigrateArguments& arguments);

}  // namespace queen::server
