#include "tls/certificates.h"

#include <sys/stat.h>

#include <utility>

#include "base/log.h"

namespace queen::tls {

Certificates::Stamp Certificates::StampOf(const std::string& file) {
  struct stat info {};
  if (file.empty() || stat(file.c_str(), &info) != 0) return {};
  const auto nanos = [](const timespec& time) {
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = info.st_dev,
          .inode = info.st_ino,
          .size = info.st_size,
          .modified_ns = nanos(info.st_mtim),
          .changed_ns = nanos(info.st_ctim)};
}

std::vector<Certificates::Stamp> Certificates::Look() const {
  return {StampOf(files_.certificate), StampOf(files_.key), StampOf(files_.client_ca)};
}

Result<std::unique_ptr<Certificates>> Certificates::Open(Files files) {
  std::unique_ptr<Certificates> made(new Certificates(std::move(files)));
  made->stamps_ = made->Look();
  auto context = Context::Load(made->files_);
  if (!context.ok()) return context.status();
  made->current_ = *std::move(context);
  return made;
}

std::shared_ptr<const Context> Certificates::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

bool Certificates::Refresh() {
  // Looked at before they are read: what changes in between is seen as a change the next time.
  std::vector<Stamp> stamps = Look();
  {
    const std::lock_guard lock(mutex_);
    if (stamps == stamps_) return false;
    stamps_ = std::move(stamps);
  }
  auto context = Context::Load(files_);
  if (!context.ok()) {
    failed_reloads_.fetch_add(1, std::memory_order_relaxed);
    log::Warn("the changed TLS files cannot be used; the certificate before them stays in force",
              {{"error", context.status().message()}});
    return false;
  }
  reloads_.fetch_add(1, std::memory_order_relaxed);
  log::Info("TLS certificate loaded anew", {{"subject", (*context)->subject()}});
  const std::lock_guard lock(mutex_);
  current_ = *std::move(context);
  return true;
}

}  // namespace queen::tls
