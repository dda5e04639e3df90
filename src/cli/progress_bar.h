// ProgressBar: one line on standard error that is rewritten while work goes on; nothing unless
// standard error is a terminal. The line is removed at the end.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/terminal.h"

namespace queen::cli {

// The line: what, a bar with percent where the total is known, counts, rate and time left.
// `width` columns at most.
std::string ProgressLine(const std::string& what, int64_t done, int64_t total, double seconds,
                         size_t width);

class ProgressBar {
 public:
  // `total` 0: not known.
  ProgressBar(std::string what, int64_t total);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Writes the line, ten times a second at most.
  void Update(int64_t done);

 private:
  const Terminal terminal_;
  const std::string what_;
  const int64_t total_;
  const std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point shown_;
  bool drawn_ = false;
};

}  // namespace queen::cli
