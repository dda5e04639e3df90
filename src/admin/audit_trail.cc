#include "admin/audit_trail.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "storage/procedures.h"

namespace queen::admin {
namespace {

constexpr size_t kTextBytesMax = 500;

std::string MakeRow(const AuditEntry& entry, const std::string& broker) {
  std::string row;
  JsonWriter writer(row);
  const auto optional = [&](std::string_view key, const std::string& value, size_t bytes_max) {
    writer.Key(key);
    value.empty() ? writer.Null() : writer.String(AuditText(value, bytes_max));
  };
  writer.BeginObject();
  writer.Field("id", MakeUuidV7().ToString());
  writer.Field("at", FormatTimestamp(entry.at_micros));
  optional("actor", entry.actor, kTextBytesMax);
  writer.Field("source", entry.source);
  optional("tokenId", entry.token_id, kTextBytesMax);
  optional("client", entry.client, kTextBytesMax);
  writer.Field("broker", broker);
  writer.Field("action", entry.action);
  writer.Field("method", entry.method);
  writer.Field("path", AuditText(entry.path, AuditTrail::kRequestBytesMax));
  optional("queue", entry.queue, kTextBytesMax);
  writer.Field("status", entry.status);
  optional("request", entry.request, AuditTrail::kRequestBytesMax);
  writer.EndObject();
  return row;
}

void LogEntry(const AuditEntry& entry) {
  log::Info("audit", {{"action", entry.action},
                      {"actor", entry.actor},
                      {"source", entry.source},
                      {"token_id", entry.token_id},
                      {"client", entry.client},
                      {"method", entry.method},
                      {"path", entry.path},
                      {"queue", entry.queue},
                      {"status", entry.status},
                      {"request", entry.request}});
}

}  // namespace

std::string AuditText(std::string_view text, size_t bytes_max) {
  std::string clean;
  for (const char c : text.substr(0, bytes_max)) {
    clean.push_back(static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? ' ' : c);
  }
  // What was cut inside of a character, or was none from the start.
  for (int i = 0; i < 3 && !clean.empty() && !IsValidUtf8(clean); ++i) clean.pop_back();
  if (!IsValidUtf8(clean)) {
    for (char& c : clean) c = static_cast<unsigned char>(c) >= 0x80 ? '?' : c;
  }
  return clean;
}

AuditTrail::~AuditTrail() { assert(!thread_.joinable()); }

bool AuditTrail::OpenFile() {
  if (fd_ >= 0) close(fd_);
  fd_ = open(options_.file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  return fd_ >= 0;
}

Status AuditTrail::Open() {
  if (!options_.file.empty() && !OpenFile()) {
    return Status(Code::kInternal,
                  fmt::format("Cannot open the audit file {}: {}", options_.file, strerror(errno)));
  }
  thread_ = std::thread([this] { WriteLines(); });
  return Status::Ok();
}

void AuditTrail::Record(const AuditEntry& entry) {
  const std::string row = MakeRow(entry, options_.broker);
  const std::lock_guard lock(mutex_);
  const bool wants_lines = !options_.file.empty() || options_.to_log;
  if (wants_lines && lines_.size() < kWaitingMax) {
    lines_.push_back({row, options_.file.empty() ? entry : AuditEntry()});
    more_lines_.notify_one();
  }
  if (rows_.size() >= kWaitingMax) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    log::WarnRarely("PostgreSQL is away for so long that entries of the audit trail are dropped");
    return;
  }
  rows_.push_back(row);
  if (pool_ == nullptr || std::exchange(flush_posted_, true)) return;
  pool_->loop().Post([this, alive = std::weak_ptr<char>(alive_)] {
    if (!alive.expired()) Flush();
  });
}

size_t AuditTrail::waiting() const {
  const std::lock_guard lock(mutex_);
  return rows_.size();
}

// ---- lines

void AuditTrail::WriteLines() {
  std::unique_lock lock(mutex_);
  for (;;) {
    more_lines_.wait(lock, [this] { return closing_ || !lines_.empty(); });
    if (lines_.empty()) break;
    const std::deque<Line> lines = std::exchange(lines_, {});
    lock.unlock();
    if (options_.file.empty()) {
      for (const Line& line : lines) LogEntry(line.entry);
    } else {
      std::string text;
      for (const Line& line : lines) text.append(line.row).append("\n");
      WriteToFile(text);
    }
    lock.lock();
  }
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

// The file may have been moved away to make room for a new one.
void AuditTrail::WriteToFile(const std::string& lines) {
  struct stat ours {};
  struct stat named {};
  const bool moved = fd_ < 0 || fstat(fd_, &ours) != 0 ||
                     stat(options_.file.c_str(), &named) != 0 || ours.st_ino != named.st_ino ||
                     ours.st_dev != named.st_dev;
  bool written = !moved || OpenFile();
  std::string_view rest = lines;
  while (written && !rest.empty()) {
    const ssize_t size = write(fd_, rest.data(), rest.size());
    if (size < 0 && errno == EINTR) continue;
    written = size > 0;
    if (written) rest.remove_prefix(static_cast<size_t>(size));
  }
  if (!written) {
    log::ErrorRarely("the audit file cannot be written",
                     {{"file", options_.file}, {"error", strerror(errno)}});
  }
}

void AuditTrail::Close() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    more_lines_.notify_one();
  }
  thread_.join();
}

// ---- rows

void AuditTrail::Start(AdminPool& pool) {
  pool.loop().AssertOwner();
  retry_ = std::make_unique<Timer>(pool.loop(), [this] { Flush(); });
  give_up_ = std::make_unique<Timer>(pool.loop(), [this] { End(); });
  {
    const std::lock_guard lock(mutex_);
    pool_ = &pool;
  }
  Flush();
}

void AuditTrail::Flush() {
  std::string batch = "[";
  size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    flush_posted_ = false;
    if (storing_ || pool_ == nullptr) return;
    count = std::min(rows_.size(), kRowsPerStatement);
    for (size_t i = 0; i < count; ++i) batch.append(i == 0 ? "" : ",").append(rows_[i]);
  }
  if (count == 0) return finished_ ? End() : void();
  batch += "]";
  storing_ = true;
  pg::Params params(1);
  params.Jsonb(batch);
  pool_->Execute(pool_->loop(), {storage::kRecordAudit, std::move(params)},
                 [this, count, alive = std::weak_ptr<char>(alive_)](const pg::BatchResult& result) {
                   if (!alive.expired()) OnStored(count, result);
                 });
}

void AuditTrail::OnStored(size_t rows, const pg::BatchResult& result) {
  storing_ = false;
  if (!result.ok()) {
    log::Debug("entries of the audit trail were not stored", {{"error", result.status.ToString()}});
    retry_->Start(kRetryMs);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(rows));
  }
  stored_.fetch_add(rows, std::memory_order_relaxed);
  Flush();
}

void AuditTrail::Finish(UniqueFunction<void()> done) {
  finished_ = std::move(done);
  if (!retry_) return End();
  give_up_->Start(kLastRowsMs);
  Flush();
}

void AuditTrail::End() {
  {
    const std::lock_guard lock(mutex_);
    pool_ = nullptr;
    alive_.reset();
  }
  retry_.reset();
  give_up_.reset();
  if (finished_) std::exchange(finished_, nullptr)();
}

}  // namespace queen::admin
