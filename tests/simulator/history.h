// History: what has happened, line by line, as the end of a simulation that failed prints it: the
// last lines of the partition it is about, and the last of everything else. All lines of a run come
// to one hash: the same seed has the same hash.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "simulator/database/scheduler.h"

namespace queen::simulator {

class History {
 public:
  static constexpr int kNowhere = -1;  // no partition

  History(const Scheduler& time, uint64_t seed, size_t partitions)
      : time_(time), began_(time.NowMicros()), seed_(seed), lines_(partitions + 1) {}

  template <typename... Args>
  void Note(int partition, fmt::format_string<Args...> format, Args&&... args) {
    Add(partition, fmt::format(format, std::forward<Args>(args)...));
  }
  // A rule is broken: says which, and ends the process with kBroken.
  [[noreturn]] void Fail(int partition, const std::string& rule) const;

  static constexpr int kBroken = 3;
  uint64_t hash() const { return hash_; }
  int64_t NowMs() const { return (time_.NowMicros() - began_) / 1000; }
  // Prints every line as it comes.
  void PrintAll() { print_all_ = true; }

 private:
  static constexpr size_t kKept = 60;

  void Add(int partition, std::string text);

  const Scheduler& time_;
  const int64_t began_;
  const uint64_t seed_;
  bool print_all_ = false;
  uint64_t hash_ = 14695981039346656037ULL;
  std::vector<std::deque<std::string>> lines_;  // by partition, and last those of none
};

}  // namespace queen::simulator
