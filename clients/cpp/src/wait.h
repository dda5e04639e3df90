// A pause that a stop_token can end.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace queen::client {

// False if `stop` ended it.
inline bool SleepFor(std::chrono::milliseconds duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, duration, [] { return false; });
  return !stop.stop_requested();
}

}  // namespace queen::client
