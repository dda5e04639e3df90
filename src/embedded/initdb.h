// Making the cluster's directory: initdb into <root>/postgres.new.*, then one rename. A broker that
// dies in between leaves only a directory of that name, which the next start removes.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "embedded/binaries.h"
#include "embedded/child_process.h"
#include "embedded/cluster_user.h"
#include "embedded/data_directory.h"

namespace queen::embedded {

// The major version that made the cluster; nullopt when there is none yet. Refuses a directory
// that is neither empty nor a cluster.
Result<std::optional<int>> ClusterMajor(const Layout& layout);

void RemoveInterruptedInitdb(const Layout& layout);

// A new empty directory owned by the cluster's user.
Result<std::string> MakeInitdbDirectory(const Layout& layout, const ClusterUser& user);

// The caller sets user and output.
Command InitdbCommand(const Binaries& binaries, const std::string& directory);

// Gives the finished directory its name, durably.
Status PublishCluster(const Layout& layout, const std::string& directory);

}  // namespace queen::embedded
