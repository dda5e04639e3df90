// Sequence: nextval and what a crash makes of it. The log says once for 32 values how far it may
// have come, so a crash leaves out what was not used, and forgets what was not durable.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "simulator/database/commit_log.h"

namespace queen::simulator {

class Sequence {
 public:
  int64_t Next(CommitLog& log) {
    if (last_ == logged_) {
      logged_ = last_ + 1 + kAhead;
      records_.emplace_back(log.Note(), logged_);
    }
    return ++last_;
  }

  // REQUIRES: `log` has recovered
  void Recover(const CommitLog& log) {
    while (!records_.empty() && records_.back().first > log.end()) records_.pop_back();
    last_ = logged_ = records_.empty() ? 0 : records_.back().second;
    if (!records_.empty()) records_ = {records_.back()};
  }

 private:
  static constexpr int64_t kAhead = 32;

  int64_t last_ = 0;
  int64_t logged_ = 0;
  std::vector<std::pair<Lsn, int64_t>> records_;
};

}  // namespace queen::simulator
