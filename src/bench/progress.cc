#include "bench/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "base/clock.h"
#include "bench/numbers.h"

namespace queen::bench {
namespace {

constexpr int64_t kTerminalUs = 250'000;
constexpr int64_t kLogUs = 5'000'000;

double PerSecond(uint64_t count, int64_t micros) {
  return static_cast<double>(count) * 1e6 / static_cast<double>(micros);
}

}  // namespace

Progress::Progress(bool enabled) : enabled_(enabled), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() { End(); }

void Progress::Begin(std::string phase, const Ledger* ledger) {
  phase_ = std::move(phase);
  ledger_ = ledger;
  shown_us_ = SteadyMicros();
  shown_confirmed_ = ledger == nullptr ? 0 : ledger->confirmed();
  shown_received_ = ledger == nullptr ? 0 : ledger->received();
}

void Progress::End() {
  if (enabled_ && terminal_ && !phase_.empty()) fmt::print(stderr, "\r\033[K");
  phase_.clear();
  ledger_ = nullptr;
}

void Progress::Show(int64_t now_us, uint64_t errors) {
  if (!enabled_ || ledger_ == nullptr) return;
  const int64_t passed = now_us - shown_us_;
  if (passed < (terminal_ ? kTerminalUs : kLogUs)) return;
  const uint64_t confirmed = ledger_->confirmed();
  const uint64_t received = ledger_->received();
  fmt::print(stderr, "{}{}: pushed {} ({}/s), received {} ({}/s), errors {}{}",
             terminal_ ? "\r\033[K" : "", phase_, WithCommas(confirmed),
             Round(PerSecond(confirmed - shown_confirmed_, passed)), WithCommas(received),
             Round(PerSecond(received - shown_received_, passed)), errors, terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_us_ = now_us;
  shown_confirmed_ = confirmed;
  shown_received_ = received;
}

}  // namespace queen::bench
