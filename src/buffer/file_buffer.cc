#include "buffer/file_buffer.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"

namespace queen::buffer {
namespace {

// What the caller of a push hears of an append: why it was not stored anywhere.
Status ForCaller(const Status& status) {
  if (status.code() == Code::kDiskFull) {
    return Status(status.code(), "PostgreSQL takes no pushes, and the file buffer has no space: " +
                                     status.message());
  }
  if (status.ok() || status.retryable()) return status;
  return Status(Code::kDatabaseUnavailable,
                "PostgreSQL takes no pushes, and the file buffer cannot be written");
}

}  // namespace

FileBuffer::FileBuffer(std::unique_ptr<Directory> directory, const BufferLog::Options& options)
    : directory_(std::move(directory)),
      bytes_max_(options.bytes_max),
      failed_(*directory_),
      owner_(*directory_),
      log_(*directory_, failed_, options),
      replay_(log_, held_, failed_, pace_, {}) {}

FileBuffer::~FileBuffer() = default;

Result<std::unique_ptr<FileBuffer>> FileBuffer::Open(std::unique_ptr<Directory> directory,
                                                     const BufferLog::Options& options) {
  std::unique_ptr<FileBuffer> buffer(new FileBuffer(std::move(directory), options));
  QUEEN_RETURN_IF_ERROR(buffer->failed_.Open());
  QUEEN_RETURN_IF_ERROR(buffer->log_.Open(
      [&](const Group& group) { buffer->held_.Add(group.queue, group.partition); }));
  QUEEN_RETURN_IF_ERROR(buffer->owner_.Open(buffer->log_.messages() == 0));
  if (buffer->log_.messages() > 0) {
    log::Info("messages of an earlier run are in the file buffer",
              {{"messages", buffer->log_.messages()},
               {"partitions", buffer->held_.size()},
               {"directory", buffer->directory_->path()}});
  }
  return buffer;
}

void FileBuffer::Start() {
  log_.Start([this] { replay_.Wake(); });
}

Status FileBuffer::Claim(const std::string& database_id) {
  const bool empty = log_.outstanding() == 0;
  if (empty) log_.RemoveSettled();  // what is stored in one database must not be left to another
  return owner_.Claim(database_id, empty);
}

void FileBuffer::Meet(std::string_view database_id) {
  if (!owner_.Is(database_id) && stranger_) stranger_(std::string(database_id));
}

void FileBuffer::StartReplay(const sidecar::Shards& shards) {
  replay_.Start([&shards](std::string_view queue, sidecar::PushRequest request) {
    const sidecar::Shards::Shard& owner = shards.shards[shards.OwnerOfQueue(queue)];
    owner.loop->Post([sidecar = owner.sidecar, request = std::move(request)]() mutable {
      sidecar->push().Submit(std::move(request));
    });
  });
}

void FileBuffer::StopReplay() { replay_.Stop(); }

void FileBuffer::Close() {
  log_.Close();
  log_.RemoveSettled();
}

void FileBuffer::SetForced(bool forced) {
  if (forced_.exchange(forced) == forced) return;
  log::Info(forced ? "pushes are buffered until told otherwise" : "buffered pushes are let through",
            {{"messages", log_.messages()}});
  replay_.SetPaused(forced);
}

FileBufferStats FileBuffer::stats() const {
  const BufferLog::Stats log = log_.stats();
  FileBufferStats stats;
  stats.pending_messages = log.messages;
  stats.pending_partitions = static_cast<int64_t>(held_.size());
  stats.bytes = log.bytes + failed_.bytes();
  stats.bytes_max = bytes_max_;
  stats.oldest_micros = log.oldest_micros;
  stats.failed_messages = failed_.messages();
  stats.damaged_ranges = failed_.damaged_ranges();
  stats.failed_files = failed_.files();
  stats.failed_bytes = failed_.bytes();
  stats.healthy = log.healthy;
  stats.forced = forced_;
  return stats;
}

// ---- the push path

bool FileBuffer::Holds(std::string_view queue, std::string_view partition) const {
  return log_.outstanding() > 0 && held_.Contains(queue, partition);
}

sidecar::PushBuffer::Route FileBuffer::RouteOf(std::string_view queue,
                                               std::string_view partition) const {
  if (forced_) return Route::kBuffer;
  if (!Holds(queue, partition)) return Route::kDirect;
  const int64_t now = SteadyMillis();
  const int64_t about_to_be_stored = std::max(kCutOverMessages, 2 * pace_.settled_per_window(now));
  const bool append = log_.messages() > about_to_be_stored && pace_.MayAppend(now);
  return append ? Route::kBuffer : Route::kWait;
}

void FileBuffer::Append(Loop& loop, std::string_view queue, std::string_view partition,
                        const std::vector<sidecar::BufferedMessage>& messages,
                        UniqueFunction<void(const Status&)> done) {
  Group group{queue, partition, WallMicros(), {}};
  group.messages.reserve(messages.size());
  for (const sidecar::BufferedMessage& message : messages) {
    group.messages.push_back({message.txn, message.payload, message.meta});
  }
  held_.Add(queue, partition);
  pace_.Appended(SteadyMillis(), static_cast<int64_t>(messages.size()));
  const auto completion = std::make_shared<Completion>(
      Completion{&loop, std::string(queue), std::string(partition), std::move(done)});
  const Status accepted =
      log_.Append(EncodeBody(group), static_cast<int64_t>(messages.size()),
                  [this, completion](const Status& status) { Finish(completion, status); });
  if (!accepted.ok()) Finish(completion, accepted);
}

void FileBuffer::Finish(const std::shared_ptr<Completion>& completion, const Status& status) {
  completion->loop->Post([this, completion, status] {
    if (!status.ok()) held_.Remove(completion->queue, completion->partition);
    completion->done(ForCaller(status));
  });
}

}  // namespace queen::buffer
