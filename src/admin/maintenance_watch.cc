#include "admin/maintenance_watch.h"

#include <utility>

#include "base/log.h"
#include "storage/procedures.h"

namespace queen::admin {

MaintenanceWatch::MaintenanceWatch(AdminPool& pool, state::Maintenance& maintenance)
    : pool_(pool), maintenance_(maintenance), timer_(pool.loop(), [this] { OnTick(); }) {}

void MaintenanceWatch::Start(UniqueFunction<void()> known) {
  pool_.loop().AssertOwner();
  stopped_ = false;
  known_ = std::move(known);
  timer_.Start(0, kTickMs);
}

void MaintenanceWatch::Stop() {
  pool_.loop().AssertOwner();
  stopped_ = true;
  timer_.Stop();
}

void MaintenanceWatch::Look() {
  pool_.loop().AssertOwner();
  if (stopped_) return;
  again_ = in_flight_;
  OnTick();
}

void MaintenanceWatch::OnTick() {
  if (in_flight_) return;
  in_flight_ = true;
  pool_.Execute(pool_.loop(), pg::Batch(storage::kReadMaintenance, pg::Params(0)),
                [this, begun = maintenance_.BeginReading()](const pg::BatchResult& result) {
                  OnRead(begun, result);
                });
}

void MaintenanceWatch::OnRead(int64_t begun, const pg::BatchResult& result) {
  in_flight_ = false;
  if (stopped_) return;
  if (!result.ok()) {
    log::Debug("the maintenance flags could not be read", {{"error", result.status.ToString()}});
    return;
  }
  maintenance_.EndReading(begun, {result.rows[0].Bool(0, 0), result.rows[0].Bool(0, 1)});
  if (UniqueFunction<void()> known = std::exchange(known_, nullptr)) known();
  if (std::exchange(again_, false)) OnTick();
}

}  // namespace queen::admin
