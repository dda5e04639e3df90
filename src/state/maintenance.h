// Maintenance: whether pushes and pops are paused, as far as this process knows. The truth is in
// the database, shared by all brokers (admin/maintenance_watch.h reads it); this is what the
// process acts by, also while the database is away.
//
//   push   every push goes to the file buffer, and nothing of that is stored
//   pop    no pop is given messages
//
// Until the first reading both are off, which nothing depends on: the server lets neither a push
// nor what is buffered to PostgreSQL before. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>

namespace queen::state {

enum class MaintenanceMode { kPush, kPop };

struct MaintenanceFlags {
  bool push = false;
  bool pop = false;

  friend bool operator==(const MaintenanceFlags&, const MaintenanceFlags&) = default;
};

class Maintenance {
 public:
  // Carries a change out. Called on the thread that brings it, one at a time, in their order; must
  // not call this object.
  using Apply = std::function<void(const MaintenanceFlags&)>;

  // Once, before anything else.
  void OnChange(Apply apply) { apply_ = std::move(apply); }

  bool push() const { return push_.load(std::memory_order_relaxed); }
  bool pop() const { return pop_.load(std::memory_order_relaxed); }

  // Switched through this process just now. When this returns it is carried out.
  void Learn(MaintenanceMode mode, bool enabled);
  // As read from the database: what was learned since BeginReading is younger and wins.
  int64_t BeginReading() const;
  void EndReading(int64_t begun, const MaintenanceFlags& flags);

 private:
  // REQUIRES: mutex_ is held
  void Put(const MaintenanceFlags& flags);

  std::atomic<bool> push_{false};
  std::atomic<bool> pop_{false};
  Apply apply_;
  mutable std::mutex mutex_;
  int64_t changes_ = 0;  // learned through this process; guarded by mutex_
};

}  // namespace queen::state
