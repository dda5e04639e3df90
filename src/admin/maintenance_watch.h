// MaintenanceWatch: keeps the process's Maintenance true. Reads the flags from queen.system_state
// when the database is there first, and then each second, so that a broker follows a switch made
// through another, or in SQL, within about that time. While they cannot be read the last ones
// stand.
//
// On the pool's loop.
#pragma once

#include "admin/admin_pool.h"
#include "loop/timer.h"
#include "state/maintenance.h"

namespace queen::admin {

class MaintenanceWatch {
 public:
  static constexpr int64_t kTickMs = 1'000;

  // `maintenance` outlives it.
  MaintenanceWatch(AdminPool& pool, state::Maintenance& maintenance);

  // `known` runs once, on this loop, when the flags have been read and carried out.
  void Start(UniqueFunction<void()> known);
  // Something may have changed: reads the flags now, or again when the present reading has ended.
  void Look();
  // Nothing further is asked; what is in flight ends with the pool.
  void Stop();

 private:
  void OnTick();
  void OnRead(int64_t begun, const pg::BatchResult& result);

  AdminPool& pool_;
  state::Maintenance& maintenance_;
  UniqueFunction<void()> known_;  // null: it ran
  Timer timer_;
  bool stopped_ = true;
  bool in_flight_ = false;
  bool again_ = false;
};

}  // namespace queen::admin
