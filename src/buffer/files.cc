#include "buffer/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace queen::buffer {
namespace {

constexpr const char* kLockName = "buffer.lock";
constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr size_t kPidTextBytes = 32;

Status Failed(std::string_view what, const std::string& path) {
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return Status(full ? Code::kDiskFull : Code::kInternal,
                fmt::format("{} {}: {}", what, path, std::strerror(errno)));
}

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class PosixFile final : public File {
 public:
  PosixFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed("writing", path_);
      bytes.remove_prefix(static_cast<size_t>(written));
    }
    return Status::Ok();
  }

  Status Sync() override {
    return fdatasync(fd_.get()) == 0 ? Status::Ok() : Failed("syncing", path_);
  }

  Status Truncate(uint64_t size) override {
    return ftruncate(fd_.get(), static_cast<off_t>(size)) == 0 ? Status::Ok()
                                                               : Failed("truncating", path_);
  }

 private:
  const Fd fd_;
  const std::string path_;
};

class PosixDirectory final : public Directory {
 public:
  PosixDirectory(std::string path, int directory, int lock)
      : path_(std::move(path)), directory_(directory), lock_(lock) {}

  const std::string& path() const override { return path_; }

  Result<std::unique_ptr<File>> Create(const std::string& name) override {
    const int fd = openat(directory_.get(), name.c_str(),
                          O_CREAT | O_EXCL | O_WRONLY | O_APPEND | O_CLOEXEC, kFileMode);
    if (fd < 0) return Failed("creating", PathOf(name));
    return std::unique_ptr<File>(std::make_unique<PosixFile>(fd, PathOf(name)));
  }

  Result<std::string> Read(const std::string& name, uint64_t from, uint64_t to) override {
    const Fd fd(openat(directory_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd.get() < 0) return Failed("opening", PathOf(name));
    std::string bytes(to - from, '\0');
    size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t got = pread(fd.get(), bytes.data() + filled, bytes.size() - filled,
                                static_cast<off_t>(from + filled));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("reading", PathOf(name));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    bytes.resize(filled);
    return bytes;
  }

  Result<std::vector<Entry>> List() override {
    const int fd = openat(directory_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* stream = fd < 0 ? nullptr : fdopendir(fd);
    if (stream == nullptr) return Failed("listing", path_);
    std::vector<Entry> entries;
    while (const dirent* entry = readdir(stream)) {
      struct stat info {};
      if (fstatat(directory_.get(), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
          S_ISREG(info.st_mode)) {
        entries.push_back({entry->d_name, static_cast<uint64_t>(info.st_size)});
      }
    }
    closedir(stream);
    return entries;
  }

  Status Remove(const std::string& name) override {
    return unlinkat(directory_.get(), name.c_str(), 0) == 0 ? Status::Ok()
                                                            : Failed("removing", PathOf(name));
  }

  Status Sync() override {
    return fsync(directory_.get()) == 0 ? Status::Ok() : Failed("syncing", path_);
  }

  Result<int64_t> FreeBytes() override {
    struct statvfs info {};
    if (fstatvfs(directory_.get(), &info) != 0)
      return Failed("asking for the free space of", path_);
    return static_cast<int64_t>(info.f_bavail * info.f_frsize);
  }

 private:
  std::string PathOf(const std::string& name) const { return path_ + "/" + name; }

  const std::string path_;
  const Fd directory_;
  const Fd lock_;
};

Status Refused(const std::string& path, std::string_view why) {
  return Status(Code::kInternal,
                fmt::format("the file buffer's directory {} cannot be used: {} (FILE_BUFFER_DIR)",
                            path, why));
}

Status MakeDirectories(const std::string& path) {
  for (size_t end = path.find('/', 1); true; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), kDirectoryMode) == 0) {
      // Its entry must be on the disk before anything in it counts as being there.
      const Fd parent(open((part + "/..").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (fsync(parent.get()) != 0) return Refused(path, std::strerror(errno));
    } else if (errno != EEXIST) {
      return Refused(path, fmt::format("{}: {}", part, std::strerror(errno)));
    }
    if (end == std::string::npos) return Status::Ok();
  }
}

std::string HolderOf(int lock) {
  char text[kPidTextBytes] = {};
  const ssize_t size = pread(lock, text, sizeof text - 1, 0);
  return size > 0 ? fmt::format("another broker uses it (process {})", text)
                  : "another broker uses it";
}

}  // namespace

Result<std::unique_ptr<Directory>> OpenDirectory(const std::string& path) {
  QUEEN_RETURN_IF_ERROR(MakeDirectories(path));
  Fd directory(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) return Refused(path, std::strerror(errno));
  Fd lock(openat(directory.get(), kLockName, O_CREAT | O_RDWR | O_CLOEXEC, kFileMode));
  if (lock.get() < 0) return Refused(path, std::strerror(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return Refused(path, errno == EWOULDBLOCK ? HolderOf(lock.get()) : std::strerror(errno));
  }
  // For the message of the next one who wants it; a full disk is no reason not to start.
  const std::string pid = std::to_string(getpid());
  if (ftruncate(lock.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(lock.get(), pid.data(), pid.size(), 0);
  }
  return std::unique_ptr<Directory>(
      std::make_unique<PosixDirectory>(path, directory.Release(), lock.Release()));
}

}  // namespace queen::buffer
