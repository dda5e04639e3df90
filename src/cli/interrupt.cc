#include "cli/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <ctime>

#include "cli/exit_codes.h"

namespace queen::cli {
namespace {

constexpr long kCheckNanos = 100'000'000;  // how soon the thread sees that it is over

bool IsIgnored(int signal) {
  struct sigaction action {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupt::Interrupt() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGQUIT);
  sigaddset(&signals_, SIGTERM);
  if (!IsIgnored(SIGHUP)) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  thread_ = std::jthread([this](const std::stop_token& over) { Watch(over); });
}

Interrupt::~Interrupt() {
  thread_.request_stop();
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void Interrupt::Watch(const std::stop_token& over) {
  while (!over.stop_requested()) {
    const timespec pause{0, kCheckNanos};
    const int signal = sigtimedwait(&signals_, nullptr, &pause);
    if (signal > 0 && !asked_.request_stop() && signal != SIGHUP) _exit(kInterrupted);
  }
}

}  // namespace queen::cli
