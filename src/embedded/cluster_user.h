// Who runs the cluster. PostgreSQL refuses to run as root, so a broker started by root gives its
// cluster to an unprivileged user (Debian's `postgres` unless configured); any other broker runs
// the cluster as itself. Everything a child needs to change its credentials is looked up here,
// before the fork, because looking up users is not safe after one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace queen::embedded {

struct ClusterUser {
  std::string name;         // of the user the cluster runs as
  std::string broker_name;  // of the user the broker runs as; equal unless `drops`
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  bool drops = false;  // the broker is root: children change their credentials
};

// `configured` is the unprivileged user for a broker run by root; it is ignored otherwise.
Result<ClusterUser> FindClusterUser(const std::string& configured);

// Changes the calling process to `user` if it drops. Only system calls, so it may be called between
// fork and exec. Returns 0 or errno.
int BecomeClusterUser(const ClusterUser& user);

}  // namespace queen::embedded
