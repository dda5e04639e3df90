#include "server/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "http/acceptor.h"
#include "http/connections.h"

namespace queen::server {
namespace {

// Listening sockets, logs, the files and the lock of the buffer, the pipes of the embedded cluster,
// and what libraries open for a moment (names of hosts, certificates).
constexpr int64_t kForTheProcess = 48;
// epoll and wake-up descriptors of a thread with a loop.
constexpr int64_t kPerLoop = 8;
// main, acceptor, administration, file buffer
constexpr int64_t kLoopsBesideWorkers = 4;
// A connection to PostgreSQL that is made anew while the old one is not closed yet.
constexpr int64_t kPerSlot = 2;
// So many connections, where nobody asked for a number, are nothing to warn of.
constexpr int kEnoughConnections = 1'000;

// As many as the system allows; what is open already keeps its place below the new limit.
int64_t RaiseLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int>::max();
  if (limit.rlim_cur != limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int64_t>(
      std::min<rlim_t>(limit.rlim_cur, static_cast<rlim_t>(std::numeric_limits<int>::max())));
}

}  // namespace

int64_t DescriptorReserve(const config::Config& config) {
  const int64_t workers = config.server.workers;
  const int64_t slots = std::max<int64_t>(config.sidecar.pool_size, 2 * workers);
  return kForTheProcess + kPerLoop * (kLoopsBesideWorkers + workers) +
         kPerSlot * (slots + config.database.pool_size) + http::Acceptor::kOnTheirWayMax +
         workers * static_cast<int64_t>(http::Connections::kRefusedOpenMax);
}

int ConnectionsThatFit(const config::Config& config, int64_t descriptors) {
  const int64_t left = descriptors - DescriptorReserve(config);
  return static_cast<int>(std::clamp<int64_t>(left, 1, config.http.connections_max));
}

void FitConnectionsToDescriptors(config::Config& config) {
  const int64_t descriptors = RaiseLimit();
  const int fitting = ConnectionsThatFit(config, descriptors);
  if (fitting == config.http.connections_max) return;
  // Who asked for a number hears that it is not possible. The default is as many as fit.
  const bool is_default = config.http.connections_max == config::Http{}.connections_max;
  const bool enough = is_default && fitting >= kEnoughConnections;
  log::Write(enough ? log::Level::kDebug : log::Level::kWarn,
             "fewer client connections than QUEEN_HTTP_CONNECTIONS_MAX: the limit of open files "
             "(ulimit -n) leaves room for no more",
             {{"connections", fitting},
              {"wanted", config.http.connections_max},
              {"open_files", descriptors},
              {"kept_for_the_broker", DescriptorReserve(config)}});
  config.http.connections_max = fitting;
}

}  // namespace queen::server
