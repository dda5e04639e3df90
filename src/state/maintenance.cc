#include "state/maintenance.h"

namespace queen::state {

void Maintenance::Learn(MaintenanceMode mode, bool enabled) {
  const std::lock_guard lock(mutex_);
  ++changes_;
  MaintenanceFlags flags{push(), pop()};
  (mode == MaintenanceMode::kPush ? flags.push : flags.pop) = enabled;
  Put(flags);
}

int64_t Maintenance::BeginReading() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

void Maintenance::EndReading(int64_t begun, const MaintenanceFlags& flags) {
  const std::lock_guard lock(mutex_);
  if (begun == changes_) Put(flags);
}

void Maintenance::Put(const MaintenanceFlags& flags) {
  if (flags == MaintenanceFlags{push(), pop()}) return;
  push_ = flags.push;
  pop_ = flags.pop;
  if (apply_) apply_(flags);
}

}  // namespace queen::state
