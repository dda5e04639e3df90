// The command line of `queen bench SCENARIO [options]`: one table of options, from which parsing,
// the help and the record of a run in its report are made. Anything wrong is told by naming the
// option; nothing is guessed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bench/transaction_ids.h"

namespace queen::bench {

enum class Scenario { kPush, kDrain, kE2e, kPopWave, kPartitions, kSoak };

std::string_view NameOf(Scenario scenario);

// What every option is set to, given or not; those of other scenarios keep a value nobody reads.
struct Options {
  Scenario scenario = Scenario::kPush;
  std::string url = "http://127.0.0.1:6632";
  std::string queue;  // "" = one of its own, named after the run
  bool keep_queue = false;
  bool json = false;
  bool quiet = false;
  std::string database;        // conninfo or URL; "" = the embedded cluster's, if it can be found
  int64_t broker_pid = 0;      // 0 = found by the port
  int64_t postgres_pid = 0;    // 0 = found
  int64_t stall_seconds = 30;  // nothing moved for so long: the run has failed

  int64_t seconds = 10;
  int64_t messages = 0;  // > 0: so many instead of `seconds`
  int64_t warmup_seconds = 0;
  int64_t interval_seconds = 1;  // of the series
  int64_t partitions = 100;
  int64_t payload_bytes = 200;
  std::string ids = "v7";  // one of kIdKindNames
  bool no_transaction_ids = false;
  bool no_verify = false;

  int64_t producers = 8;
  int64_t push_batch = 100;
  int64_t partitions_per_push = 1;
  int64_t consumers = 16;
  int64_t pop_batch = 100;
  int64_t partitions_per_pop = 1;
  int64_t groups = 1;
  int64_t rate = 1'000;  // messages per second

  int64_t fill = 1'000'000;
  bool with_push = false;
  bool idle = false;
  bool hold_transaction = false;
  int64_t pause_ms = 10;
  int64_t pops = 500;
  int64_t rounds = 10;
  std::vector<int64_t> counts = {100, 10'000};
  int64_t operations = 5'000;
};

IdKind IdKindOf(const Options& options);

// A command line that asks for nothing to be run: help (exit code 0), or a mistake (2).
struct Answer {
  int exit_code = 0;
  std::string text;
};

// `words` are those behind "queen bench".
std::variant<Options, Answer> ParseOptions(const std::vector<std::string>& words);

// Every option of the scenario that says something about the load, as (name without dashes, value
// as JSON), in the order of the table.
std::vector<std::pair<std::string, std::string>> RecordedOptions(const Options& options);

}  // namespace queen::bench
