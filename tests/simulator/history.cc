#include "simulator/history.h"

#include <unistd.h>

#include <cstdio>

namespace queen::simulator {

void History::Add(int partition, std::string text) {
  const int64_t at = time_.NowMicros() - began_;
  std::string line = fmt::format("{:>5}.{:06} {}", at / 1'000'000, at % 1'000'000, std::move(text));
  for (const char c : line) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  if (print_all_) fmt::print("{:>3} {}\n", partition, line);
  auto& kept = lines_[partition == kNowhere ? lines_.size() - 1 : static_cast<size_t>(partition)];
  kept.push_back(std::move(line));
  if (kept.size() > kKept) kept.pop_front();
}

void History::Fail(int partition, const std::string& rule) const {
  const int64_t at = time_.NowMicros() - began_;
  fmt::print("\nBROKEN at {}.{:06} s: {}\n", at / 1'000'000, at % 1'000'000, rule);
  fmt::print("seed {} (make simulate SEED={} prints the same again)\n", seed_, seed_);
  if (partition != kNowhere) {
    fmt::print("the last of partition {}:\n", partition);
    for (const std::string& line : lines_[static_cast<size_t>(partition)]) {
      fmt::print("  {}\n", line);
    }
  }
  fmt::print("the last of everything else:\n");
  for (const std::string& line : lines_.back()) fmt::print("  {}\n", line);
  std::fflush(stdout);
  _exit(kBroken);
}

}  // namespace queen::simulator
