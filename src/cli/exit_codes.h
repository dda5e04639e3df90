// How the commands of an operator end. docs/cli.md and `queen help exit-codes` say the same.
#pragma once

namespace queen::cli {

enum ExitCode : int {
  kDone = 0,
  kFailed = 1,       // refused by the broker, or part of the work failed, or doctor found something
  kUsage = 2,        // a wrong command line
  kUnreachable = 3,  // no broker answered, or it has no database
  kNothing = 4,      // what was named does not exist, or a pop found no message
  kDenied = 5,       // no token, or one that may not do this
  kInterrupted = 130,
};

}  // namespace queen::cli
