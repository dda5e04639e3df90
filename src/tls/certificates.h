// Certificates: the Context in force, made anew when its files change. A pair of files that cannot
// be used (half written, key and certificate of different pairs, gone) changes nothing: the Context
// that was in force stays, and the log says why. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tls/context.h"

namespace queen::tls {

class Certificates {
 public:
  // Fails as Context::Load does: a broker does not start without its certificate.
  static Result<std::unique_ptr<Certificates>> Open(Files files);

  std::shared_ptr<const Context> current() const;

  // Looks at the files and, where one of them is not as it was at the last look, loads all. Returns
  // whether another Context is in force than before.
  bool Refresh();

  uint64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }
  uint64_t failed_reloads() const { return failed_reloads_.load(std::memory_order_relaxed); }

 private:
  // What tells a file from the one that was there before, even if it is renamed over it.
  struct Stamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = -1;
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  static Stamp StampOf(const std::string& file);

  explicit Certificates(Files files) : files_(std::move(files)) {}
  std::vector<Stamp> Look() const;

  const Files files_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Context> current_;  // of mutex_
  std::vector<Stamp> stamps_;               // of mutex_
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> failed_reloads_{0};
};

}  // namespace queen::tls
