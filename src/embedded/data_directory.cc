#include "embedded/data_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/log.h"

namespace queen::embedded {
namespace {

namespace fs = std::filesystem;

Status Refuse(std::string message) { return Status(Code::kInternal, std::move(message)); }

uint64_t Fnv1a(const std::string& text) {
  uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash;
}

bool FitsSocketPath(const std::string& directory) {
  const std::string path = fmt::format("{}/.s.PGSQL.{}", directory, kSocketPort);
  return path.size() < sizeof(sockaddr_un::sun_path) && path.find(',') == std::string::npos;
}

// The path resolved and existing. Parents that are missing get the usual mode, the directory itself
// is private.
Result<std::string> Create(const std::string& path) {
  if (path.empty()) return Refuse("the data directory's name is empty");
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) {
      return Refuse("the data directory's name has a control character in it");
    }
  }
  std::error_code error;
  fs::path absolute = fs::absolute(path, error).lexically_normal();
  if (!error && !absolute.has_filename()) absolute = absolute.parent_path();
  if (!error) fs::create_directories(absolute.parent_path(), error);
  if (!error && mkdir(absolute.c_str(), 0700) != 0 && errno != EEXIST) {
    error.assign(errno, std::generic_category());
  }
  const fs::path resolved = error ? fs::path() : fs::canonical(absolute, error);
  if (error) {
    return Refuse(
        fmt::format("cannot create the data directory {}: {}", absolute.string(), error.message()));
  }
  if (!fs::is_directory(resolved, error)) {
    return Refuse(fmt::format("the data directory {} is not a directory", resolved.string()));
  }
  return resolved.string();
}

std::string HolderOf(int lock_fd) {
  char text[32] = {};
  const ssize_t got = pread(lock_fd, text, sizeof(text) - 1, 0);
  const std::string pid(text, got > 0 ? strcspn(text, "\n") : 0);
  return pid.empty() ? "pid unknown" : "pid " + pid;
}

Result<int> Lock(const Layout& layout) {
  const int fd = open(layout.lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) {
    return Refuse(fmt::format("cannot write in the data directory {}: {}", layout.root,
                              std::strerror(errno)));
  }
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string holder = HolderOf(fd);
    close(fd);
    if (error == EWOULDBLOCK) {
      return Refuse(
          fmt::format("the data directory {} is in use by another broker ({}); stop it, "
                      "or give this one a directory of its own",
                      layout.root, holder));
    }
    return Refuse(fmt::format("cannot lock {}: {}", layout.lock_file, std::strerror(error)));
  }
  const std::string pid = fmt::format("{}\n", getpid());
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    const int error = errno;
    close(fd);
    return Refuse(fmt::format("cannot write {}: {}", layout.lock_file, std::strerror(error)));
  }
  return fd;
}

// "/", "/a", "/a/b" for "/a/b".
std::vector<std::string> ComponentsOf(const std::string& path) {
  std::vector<std::string> components;
  fs::path built;
  for (const fs::path& part : fs::path(path)) components.push_back(built /= part);
  return components;
}

// Index of the first of `directories` that `user` may not enter, or -1. Asked by a child that has
// become the user: the kernel knows about access lists and other rules that mode bits do not show.
int FirstClosed(const std::vector<std::string>& directories, const ClusterUser& user) {
  constexpr int kNone = 255;
  const pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) {
    if (BecomeClusterUser(user) != 0) _exit(kNone);
    int index = 0;
    for (const std::string& directory : directories) {
      if (index < kNone && access(directory.c_str(), X_OK) != 0) _exit(index);
      ++index;
    }
    _exit(kNone);
  }
  int wait_status = 0;
  while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
  }
  const int code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kNone;
  return code == kNone ? -1 : code;
}

// A directory that nobody but root could enter (such as one we just made) is opened to the group
// of the cluster's user. Anything else was arranged by somebody, and is left alone.
bool OpenToGroup(const std::string& directory, const ClusterUser& user) {
  struct stat info {};
  if (stat(directory.c_str(), &info) != 0 || info.st_uid != 0 || (info.st_mode & 077) != 0) {
    return false;
  }
  return chown(directory.c_str(), 0, user.gid) == 0 && chmod(directory.c_str(), 0710) == 0;
}

Status MakeReachable(const std::string& root, const ClusterUser& user) {
  if (!user.drops) return Status::Ok();
  const std::vector<std::string> components = ComponentsOf(root);
  int closed = FirstClosed(components, user);
  if (closed == static_cast<int>(components.size()) - 1 && OpenToGroup(root, user)) {
    closed = FirstClosed(components, user);
  }
  if (closed < 0) return Status::Ok();
  return Refuse(
      fmt::format("the user \"{}\", who runs PostgreSQL because the broker is root, may not enter "
                  "{}, which is on the way to the data directory {}; allow it (chmod o+x {}) or "
                  "choose another data directory",
                  user.name, components[static_cast<size_t>(closed)], root,
                  components[static_cast<size_t>(closed)]));
}

// Makes or adopts `path` as a 0700 directory of the cluster's user. Never follows a link: the
// fallback lies in /tmp, where a stranger may have been first.
Status MakePrivate(const std::string& path, const ClusterUser& user) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return Refuse(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  }
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return Refuse(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  struct stat info {};
  Status status;
  if (fstat(fd, &info) != 0 || (info.st_uid != user.uid && info.st_uid != geteuid())) {
    status =
        Refuse(fmt::format("{} belongs to another user (uid {}); remove it", path, info.st_uid));
  } else if ((user.drops && fchown(fd, user.uid, user.gid) != 0) || fchmod(fd, 0700) != 0) {
    status = Refuse(fmt::format("cannot give {} to the user \"{}\": {}", path, user.name,
                                std::strerror(errno)));
  }
  close(fd);
  return status;
}

Status CheckClusterOwner(const Layout& layout, const ClusterUser& user) {
  struct stat info {};
  if (stat(layout.cluster.c_str(), &info) != 0 || info.st_uid == user.uid) return Status::Ok();
  return Refuse(
      fmt::format("the cluster in {} belongs to user id {}, but it would be run by "
                  "\"{}\" (user id {}); start the broker as its owner",
                  layout.cluster, info.st_uid, user.name, user.uid));
}

}  // namespace

Layout LayoutOf(const std::string& root, uid_t uid) {
  Layout layout;
  const std::string prefix = root == "/" ? "" : root;
  layout.root = root;
  layout.lock_file = prefix + "/queen.lock";
  layout.cluster = prefix + "/postgres";
  layout.socket_directory = prefix + "/run";
  layout.log_file = prefix + "/postgres.log";
  layout.custom_conf = prefix + "/postgres-custom.conf";
  if (!FitsSocketPath(layout.socket_directory)) {
    layout.socket_directory = fmt::format("/tmp/queen-{}-{:016x}", uid, Fnv1a(root));
  }
  return layout;
}

Result<DataDirectory> DataDirectory::Open(const std::string& path, const ClusterUser& user) {
  const Result<std::string> root = Create(path);
  if (!root.ok()) return root.status();
  const Layout layout = LayoutOf(*root, user.uid);
  const Result<int> lock_fd = Lock(layout);
  if (!lock_fd.ok()) return lock_fd.status();
  DataDirectory directory(layout, *lock_fd);
  QUEEN_RETURN_IF_ERROR(MakeReachable(layout.root, user));
  QUEEN_RETURN_IF_ERROR(CheckClusterOwner(layout, user));
  QUEEN_RETURN_IF_ERROR(MakePrivate(layout.socket_directory, user));
  return directory;
}

DataDirectory::DataDirectory(DataDirectory&& other) noexcept
    : layout_(std::move(other.layout_)), lock_fd_(std::exchange(other.lock_fd_, -1)) {}

DataDirectory::~DataDirectory() {
  if (lock_fd_ < 0) return;
  [[maybe_unused]] const int emptied = ftruncate(lock_fd_, 0);
  close(lock_fd_);
}

}  // namespace queen::embedded
