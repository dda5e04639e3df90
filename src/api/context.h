// What the handlers of one worker need: the engine, administration, the loop they run on, and
// answers to the few questions that are not the engine's. Made by the server, one per worker, and
// outlives its router.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/audit_trail.h"
#include "admin/requests.h"
#include "api/environment.h"
#include "api/explain.h"
#include "api/health.h"
#include "api/maintenance.h"
#include "api/metrics.h"
#include "api/shared_state.h"
#include "api/waiting_callers.h"
#include "auth/identity.h"
#include "base/trace_context.h"
#include "http/client_limits.h"
#include "http/host_names.h"
#include "http/request.h"
#include "loop/loop.h"
#include "sidecar/requests.h"
#include "storage/payload_cipher.h"

namespace queen::api {

struct Context {
  sidecar::Engine& engine;
  admin::QueueManager& admin;
  Loop& loop;
  HealthSource health;
  // Who has sent this Authorization header, if there is one; kUnauthenticated when nobody can be
  // seen in it. Unset: authentication is off, and everybody may do everything.
  std::function<Result<auth::IdentityRef>(std::optional<std::string_view>)> authenticate = {};
  // Long polls, whose tokens may end while they wait. Null: nobody is watched.
  std::shared_ptr<WaitingCallers> waiting = {};
  // Nobody is asked for a token, and the broker is reached from other machines.
  bool open_to_network = false;
  // Begins the span of a request whose caller has this context, which may be none; what is not to
  // be exported gets none. Unset: no spans are exported.
  std::function<TraceContext(const TraceContext&)> start_span = {};
  // Whether pops are paused by maintenance; an empty reply then says so. Unset: never.
  std::function<bool()> pop_paused;
  // On the worker's loop; must not block.
  std::function<MaintenanceStatus()> maintenance;
  // Asks the sidecars of all workers; answers later on this one's loop.
  std::function<void(SharedStateDone)> shared_state;
  // What this broker believes of a lane; answers later on this worker's loop.
  std::function<void(LaneQuestion, LaneDone)> lane;
  // Makes one of the two documents elsewhere; answers later on this loop.
  std::function<void(MetricsFormat, MetricsDone)> metrics;
  // Looks at the disks of this broker elsewhere, because a disk may not answer; answers later on
  // this loop.
  std::function<void(DisksDone)> disks;
  const storage::PayloadCipher& cipher;
  // The names that this broker is reached under, and the origins whose pages may use it; for
  // callers that nobody knows. Null: any.
  const http::HostNames* host_names = nullptr;
  std::vector<std::string> allow_origins = {};
  // Shared by all workers; null: there are no limits.
  http::ClientLimits* client_limits = nullptr;
  // Takes an entry of the audit trail; must not block. Unset: none is kept.
  std::function<void(const admin::AuditEntry&)> audit = {};
};

}  // namespace queen::api
