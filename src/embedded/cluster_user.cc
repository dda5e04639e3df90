#include "embedded/cluster_user.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace queen::embedded {
namespace {

struct Entry {
  std::string name;
  uid_t uid;
  gid_t gid;
};

// Runs getpwnam_r or getpwuid_r with a buffer that grows until the entry fits.
template <typename Lookup>
std::optional<Entry> FindEntry(Lookup lookup) {
  std::vector<char> buffer(1024);
  passwd entry{};
  passwd* found = nullptr;
  while (lookup(&entry, buffer.data(), buffer.size(), &found) == ERANGE) {
    buffer.resize(buffer.size() * 2);
  }
  if (found == nullptr) return std::nullopt;
  return Entry{found->pw_name, found->pw_uid, found->pw_gid};
}

std::optional<Entry> FindByName(const std::string& name) {
  return FindEntry([&](passwd* entry, char* buffer, size_t size, passwd** found) {
    return getpwnam_r(name.c_str(), entry, buffer, size, found);
  });
}

std::optional<Entry> FindById(uid_t uid) {
  return FindEntry([&](passwd* entry, char* buffer, size_t size, passwd** found) {
    return getpwuid_r(uid, entry, buffer, size, found);
  });
}

}  // namespace

Result<ClusterUser> FindClusterUser(const std::string& configured) {
  const uid_t self = geteuid();
  const std::optional<Entry> broker = FindById(self);
  if (!broker) {
    return Status(Code::kInternal,
                  fmt::format("user id {} has no entry in the password file; PostgreSQL's initdb "
                              "and peer authentication need one",
                              self));
  }
  ClusterUser user;
  user.broker_name = broker->name;
  if (self != 0) {
    user.name = broker->name;
    user.uid = self;
    user.gid = getegid();
    return user;
  }
  const std::optional<Entry> entry = FindByName(configured);
  if (!entry) {
    return Status(Code::kInternal,
                  fmt::format("PostgreSQL must not run as root, and the user \"{}\" it should run "
                              "as does not exist; create it, name another one, or start the "
                              "broker as an ordinary user",
                              configured));
  }
  if (entry->uid == 0) {
    return Status(Code::kInternal,
                  fmt::format("PostgreSQL must not run as root, and \"{}\" is root", configured));
  }
  user.name = entry->name;
  user.uid = entry->uid;
  user.gid = entry->gid;
  user.drops = true;
  int count = 64;
  user.groups.resize(static_cast<size_t>(count));
  if (getgrouplist(entry->name.c_str(), entry->gid, user.groups.data(), &count) < 0) {
    user.groups.resize(static_cast<size_t>(count));
    getgrouplist(entry->name.c_str(), entry->gid, user.groups.data(), &count);
  }
  user.groups.resize(static_cast<size_t>(count));
  return user;
}

int BecomeClusterUser(const ClusterUser& user) {
  if (!user.drops) return 0;
  // The raw calls: glibc's versions signal the other threads, which a forked child does not have.
  if (syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0) return errno;
  if (syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return errno;
  if (syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return errno;
  return 0;
}

}  // namespace queen::embedded
