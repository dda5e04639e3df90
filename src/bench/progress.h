// Progress: one live line on standard error, rewritten in place on a terminal, else a line every
// few seconds. It shows what the scenario points it at.
#pragma once

#include <cstdint>
#include <string>

#include "bench/ledger.h"

namespace queen::bench {

class Progress {
 public:
  explicit Progress(bool enabled);
  ~Progress();  // ends the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // From now on the line is about `phase`, with the counts of `ledger` (null: none).
  // REQUIRES: the ledger lives until the next Begin or End
  void Begin(std::string phase, const Ledger* ledger);
  // Removes the line from a terminal.
  void End();

  // Writes the line if it is time to.
  void Show(int64_t now_us, uint64_t errors);

 private:
  const bool enabled_;
  const bool terminal_;
  std::string phase_;
  const Ledger* ledger_ = nullptr;
  int64_t shown_us_ = 0;
  uint64_t shown_confirmed_ = 0;
  uint64_t shown_received_ = 0;
};

}  // namespace queen::bench
