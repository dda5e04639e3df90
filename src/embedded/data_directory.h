// The broker's data directory: its layout, who owns what, and the lock that makes it one broker's.
//
//   <root>/queen.lock            held with flock for the life of the broker; holds its pid
//   <root>/postgres/             the cluster (PGDATA), owned by the cluster's user, 0700
//   <root>/postgres.new.*/       an initdb that was interrupted; removed at the next start
//   <root>/run/                  the Unix socket, owned by the cluster's user, 0700
//   <root>/postgres.log          what the cluster writes to standard error (see server_log.h)
//   <root>/postgres-custom.conf  the operator's own settings, read last; never written by us
//
// A socket path longer than the kernel takes (or one with a comma, which libpq reads as two hosts)
// moves the socket to /tmp/queen-<uid>-<hash of root>, as private as <root>/run.
// The lock is the kernel's: it ends with the process, so nothing is stale after kill -9. The file
// itself stays, because removing it would let two brokers lock two files of the same name.
#pragma once

#include <string>

#include "base/status.h"
#include "embedded/cluster_user.h"

namespace queen::embedded {

inline constexpr int kSocketPort = 5432;  // only part of the socket's name; no TCP port is opened

struct Layout {
  std::string root;  // absolute, symbolic links resolved
  std::string lock_file;
  std::string cluster;
  std::string socket_directory;
  std::string log_file;
  std::string custom_conf;
};

// The paths under `root`; `uid` is the cluster's user. Pure.
Layout LayoutOf(const std::string& root, uid_t uid);

class DataDirectory {
 public:
  // Creates what is missing, locks, and makes sure that `user` can reach its parts. The errors name
  // the directory and what to do: in use by another broker, not writable, a component of the path
  // that the cluster's user may not enter, a cluster that belongs to somebody else.
  static Result<DataDirectory> Open(const std::string& path, const ClusterUser& user);

  ~DataDirectory();  // gives up the lock
  DataDirectory(DataDirectory&& other) noexcept;
  DataDirectory& operator=(DataDirectory&&) = delete;
  DataDirectory(const DataDirectory&) = delete;

  const Layout& layout() const { return layout_; }

 private:
  DataDirectory(Layout layout, int lock_fd) : layout_(std::move(layout)), lock_fd_(lock_fd) {}

  Layout layout_;
  int lock_fd_;
};

}  // namespace queen::embedded
