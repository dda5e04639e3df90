// postmaster.pid of a cluster that this broker does not run: what does it mean? PostgreSQL refuses
// to start while the pid in it is alive, whoever that is; after kill -9 and a reboot, or in a
// container where pids repeat, it may be a stranger's. We know better, because /proc tells which
// program a pid runs and a postmaster's working directory is its cluster.
//
//   none       no file, or a pid that is dead: PostgreSQL recovers by itself
//   stranger   the pid lives but is no postmaster of this cluster (or is a zombie), or there is no
//              pid to read (power was lost while the file was written): remove the file
//   postmaster a server of this cluster lives, left by a broker that was killed: stop it first
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"
#include "embedded/data_directory.h"

namespace queen::embedded {

struct Leftover {
  enum Kind { kNone, kStranger, kPostmaster } kind = kNone;
  pid_t pid = 0;  // 0 = unreadable
};

// REQUIRES: the data directory is locked and no server of ours runs.
Leftover FindLeftover(const Layout& layout);

// True while `pid` is a postmaster of this cluster.
bool IsPostmasterOf(pid_t pid, const Layout& layout);

// The status the postmaster `pid` of this cluster has written: "starting", "ready", "stopping", or
// "" when it has written none yet.
std::string PostmasterStatus(const Layout& layout, pid_t pid);

// Removes what would make PostgreSQL refuse to start: a stranger's postmaster.pid and every socket
// file. Backends that outlived their postmaster are safe from this: PostgreSQL finds them by their
// shared memory, whose key comes from the cluster's directory, and refuses until they are gone.
// REQUIRES: FindLeftover does not say kPostmaster.
void ClearLeftovers(const Layout& layout);

}  // namespace queen::embedded
