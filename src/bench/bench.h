// `queen bench`: from the words of the command line to a report and an exit code.
#pragma once

#include <string>
#include <vector>

namespace queen::bench {

// `words` are those behind "queen bench"; `environment_database` and `token` are DATABASE_URL and
// QUEEN_TOKEN, or "". Prints to standard output and error. Returns 0, 1 for a run with errors or
// messages that were lost, duplicated or reordered, 2 for a bad command line.
int RunBench(const std::vector<std::string>& words, const std::string& environment_database,
             const std::string& token);

}  // namespace queen::bench
