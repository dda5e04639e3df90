#include "buffer/buffer_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <charconv>
#include <tuple>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"

namespace queen::buffer {
namespace {

constexpr std::string_view kSuffix = ".log";
constexpr size_t kNumberDigits = 20;

std::string NameOf(uint64_t number) { return fmt::format("{:020}{}", number, kSuffix); }

// 0: not the name of a buffer file.
uint64_t NumberOf(std::string_view name) {
  if (name.size() != kNumberDigits + kSuffix.size() || !name.ends_with(kSuffix)) return 0;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + kNumberDigits, number);
  return error == std::errc() && end == name.data() + kNumberDigits ? number : 0;
}

int64_t FrameBytes(const std::string& body) {
  return static_cast<int64_t>(kRecordHeadBytes + body.size());
}

}  // namespace

BufferLog::BufferLog(Directory& directory, FailedFiles& failed, const Options& options)
    : directory_(directory), failed_(failed), options_(options) {}

BufferLog::~BufferLog() { assert(!writer_.joinable()); }

// ---- the start

Status BufferLog::Open(const std::function<void(const Group&)>& each) {
  auto entries = directory_.List();
  if (!entries.ok()) return entries.status();
  std::erase_if(*entries, [](const auto& entry) { return NumberOf(entry.name) == 0; });
  std::sort(entries->begin(), entries->end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < entries->size(); ++i) {
    // Where the durable part ends stands in the header of the file begun after it.
    uint64_t end = (*entries)[i].size;
    FileHeader next;
    if (i + 1 < entries->size()) {
      const auto header = directory_.Read((*entries)[i + 1].name, 0, kHeaderBytes);
      if (!header.ok()) return header.status();
      const bool follows = DecodeHeader(*header, next) == HeaderState::kOk &&
                           next.number == NumberOf((*entries)[i].name) + 1;
      if (follows && next.previous_end > 0) end = std::min(end, next.previous_end);
    }
    QUEEN_RETURN_IF_ERROR(OpenFile((*entries)[i], end, each));
  }
  return Status::Ok();
}

Status BufferLog::OpenFile(const Directory::Entry& entry, uint64_t end,
                           const std::function<void(const Group&)>& each) {
  FileState file;
  file.number = NumberOf(entry.name);
  file.size = entry.size;
  file.end = end;
  file.sealed = true;
  last_number_ = file.number;
  last_end_ = 0;
  const auto bytes = directory_.Read(entry.name, 0, end);
  if (!bytes.ok()) return bytes.status();
  FileHeader header;
  const HeaderState state = DecodeHeader(*bytes, header);
  if (state == HeaderState::kNewerVersion) {
    return Status(Code::kInternal,
                  fmt::format("{}/{} was written by a newer broker, in a format that this one does "
                              "not know; let that broker replay it",
                              directory_.path(), entry.name));
  }
  if (state == HeaderState::kDamaged) {
    const Status kept = failed_.SetAsideDamage(file.number, 0, *bytes);
    if (kept.ok()) return directory_.Remove(entry.name);
    log::ErrorRarely("a damaged buffer file could not be set aside", {{"error", kept.message()}});
    return Status::Ok();  // stays as it is, for the next start
  }
  file.salt = header.salt;
  file.read = std::min<uint64_t>(kHeaderBytes, bytes->size());
  Status damage;
  Scanner scanner(file.salt, file.read, std::string_view(*bytes).substr(file.read));
  Group group;
  for (auto found = scanner.Next(); found.kind != Scanner::Found::Kind::kEnd;
       found = scanner.Next()) {
    if (found.kind == Scanner::Found::Kind::kDamage || !DecodeBody(found.body, group)) {
      if (damage.ok()) damage = failed_.SetAsideDamage(file.number, found.offset, found.body);
      continue;
    }
    if (file.records++ == 0) file.first_arrival_micros = group.arrival_micros;
    file.messages += static_cast<int64_t>(group.messages.size());
    each(group);
  }
  if (!damage.ok()) {  // the replay will try again
    log::ErrorRarely("a damaged part of a buffer file could not be set aside",
                     {{"error", damage.message()}});
  }
  outstanding_ += file.records;
  messages_ += file.messages;
  unread_bytes_ += static_cast<int64_t>(file.end - file.read);
  file_bytes_ += static_cast<int64_t>(file.size);
  files_.push_back(file);
  return Status::Ok();
}

void BufferLog::Start(UniqueFunction<void()> on_durable) {
  on_durable_ = std::move(on_durable);
  writer_ = std::thread([this] { RunWriter(); });
}

void BufferLog::Close() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  if (writer_.joinable()) writer_.join();
}

// ---- writing

Status BufferLog::Append(std::string body, int64_t messages, Done done) {
  const int64_t bytes = FrameBytes(body);
  if (body.size() > kBodyBytesMax) return Status(Code::kPayloadTooLarge);
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return Status(Code::kShuttingDown);
    if (file_bytes_ + queued_bytes_ + failed_.bytes() + bytes > options_.bytes_max) {
      return Status(Code::kOverloaded, "The file buffer is full");
    }
    queued_bytes_ += bytes;
    ++outstanding_;
    messages_ += messages;
    queue_.push_back({std::move(body), messages, std::move(done)});
  }
  wake_.notify_one();
  return Status::Ok();
}

void BufferLog::RunWriter() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::vector<Queued> turn;
    int64_t bytes = 0;
    while (!queue_.empty() && (turn.empty() || bytes < options_.file_bytes)) {
      bytes += FrameBytes(queue_.front().body);
      turn.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    writing_ = true;
    lock.unlock();
    WriteTurn(std::move(turn));
    lock.lock();
  }
}

void BufferLog::WriteTurn(std::vector<Queued> turn) {
  int64_t bytes = 0;
  int64_t messages = 0;
  for (const Queued& queued : turn) {
    bytes += FrameBytes(queued.body);
    messages += queued.messages;
  }
  Status status = CheckSpace(bytes);
  if (status.ok()) {
    status = Write(turn, bytes);
    if (!status.ok()) AbandonFile();
  }
  if (!status.ok()) LogFailure(status, bytes);
  healthy_ = status.ok();
  {
    const std::lock_guard lock(mutex_);
    queued_bytes_ -= bytes;
    if (status.ok()) {
      FileState& file = files_.back();
      Group first;
      if (file.records == 0 && DecodeBody(turn.front().body, first)) {
        file.first_arrival_micros = first.arrival_micros;
      }
      file.records += static_cast<int64_t>(turn.size());
      file.messages += messages;
      file.end = last_end_;
      file.size = last_end_;
      file_bytes_ += bytes;
      unread_bytes_ += bytes;
    } else {
      outstanding_ -= static_cast<int64_t>(turn.size());
      messages_ -= messages;
    }
    writing_ = false;
  }
  for (Queued& queued : turn) queued.done(status);
  if (status.ok()) on_durable_();
}

// Whether `bytes` may be written and leave free_bytes_min.
Status BufferLog::CheckSpace(int64_t bytes) {
  if (options_.free_bytes_min == 0) return Status::Ok();
  const auto free = directory_.FreeBytes();
  if (!free.ok()) return free.status();
  if (*free - bytes >= options_.free_bytes_min) return Status::Ok();
  return Status(Code::kDiskFull,
                fmt::format("the disk of {} has {} bytes free, of which {} are kept for PostgreSQL "
                            "(FILE_BUFFER_MIN_FREE_BYTES)",
                            directory_.path(), *free, options_.free_bytes_min));
}

void BufferLog::LogFailure(const Status& status, int64_t bytes) {
  if (status.code() != Code::kDiskFull) {
    return log::ErrorRarely("the file buffer cannot be written", {{"error", status.message()}});
  }
  const auto free = directory_.FreeBytes();
  log::ErrorRarely("the disk of the file buffer is full: pushes are refused until there is space",
                   {{"error", status.message()},
                    {"directory", directory_.path()},
                    {"free_bytes", free.ok() ? *free : -1},
                    {"kept_free_bytes", options_.free_bytes_min},
                    {"needed_bytes", bytes}});
}

Status BufferLog::Write(const std::vector<Queued>& turn, int64_t bytes) {
  if (active_ && static_cast<int64_t>(last_end_) + bytes > options_.file_bytes &&
      last_end_ > kHeaderBytes) {
    active_.reset();
    const std::lock_guard lock(mutex_);
    files_.back().sealed = true;
  }
  const bool is_new = !active_;
  if (is_new) QUEEN_RETURN_IF_ERROR(BeginFile());
  std::string frames;
  frames.reserve(static_cast<size_t>(bytes));
  for (const Queued& queued : turn) {
    AppendRecord(salt_, last_end_ + frames.size(), queued.body, frames);
  }
  QUEEN_RETURN_IF_ERROR(active_->Append(frames));
  QUEEN_RETURN_IF_ERROR(active_->Sync());
  if (is_new) QUEEN_RETURN_IF_ERROR(directory_.Sync());
  last_end_ += frames.size();
  return Status::Ok();
}

Status BufferLog::BeginFile() {
  FileHeader header;
  header.number = last_number_ + 1;
  header.previous_end = last_end_;
  header.created_micros = WallMicros();
  SecureRandomBytes(&header.salt, sizeof header.salt);
  auto file = directory_.Create(NameOf(header.number));
  if (!file.ok()) return file.status();
  active_ = *std::move(file);
  before_ = {last_number_, last_end_};
  last_number_ = header.number;
  last_end_ = kHeaderBytes;
  salt_ = header.salt;
  FileState state;
  state.number = header.number;
  state.salt = header.salt;
  state.end = state.read = state.size = kHeaderBytes;
  {
    const std::lock_guard lock(mutex_);
    files_.push_back(state);
    file_bytes_ += static_cast<int64_t>(kHeaderBytes);
  }
  return active_->Append(EncodeHeader(header));
}

// After a failure: nothing is known of what stands behind last_end_.
void BufferLog::AbandonFile() {
  if (!active_) return;
  const Status cut = active_->Truncate(last_end_);
  active_.reset();
  if (last_end_ == kHeaderBytes && directory_.Remove(NameOf(last_number_)).ok()) {
    std::tie(last_number_, last_end_) = before_;  // it was never begun
    const std::lock_guard lock(mutex_);
    file_bytes_ -= static_cast<int64_t>(files_.back().size);
    files_.pop_back();
    return;
  }
  if (!cut.ok()) {
    log::WarnRarely("the tail of a buffer file could not be cut off", {{"error", cut.message()}});
  }
  const std::lock_guard lock(mutex_);
  files_.back().sealed = true;
}

// ---- reading

BufferLog::FileState* BufferLog::FindFile(uint64_t number) {
  const auto found = std::find_if(files_.begin(), files_.end(),
                                  [=](const FileState& file) { return file.number == number; });
  return found == files_.end() ? nullptr : &*found;
}

Result<std::vector<BufferLog::Record>> BufferLog::Read() {
  FileState file;
  {
    const std::lock_guard lock(mutex_);
    const auto unread = std::find_if(files_.begin(), files_.end(),
                                     [](const FileState& f) { return f.read < f.end; });
    if (unread == files_.end()) return std::vector<Record>();
    file = *unread;
  }
  const auto bytes = directory_.Read(NameOf(file.number), file.read, file.end);
  if (!bytes.ok()) return bytes.status();
  std::vector<Record> records;
  int64_t messages = 0;
  Scanner scanner(file.salt, file.read, *bytes);
  Group group;
  for (auto found = scanner.Next(); found.kind != Scanner::Found::Kind::kEnd;
       found = scanner.Next()) {
    if (found.kind == Scanner::Found::Kind::kDamage || !DecodeBody(found.body, group)) {
      QUEEN_RETURN_IF_ERROR(failed_.SetAsideDamage(file.number, found.offset, found.body));
      continue;
    }
    messages += static_cast<int64_t>(group.messages.size());
    records.push_back({file.number, std::string(found.body)});
  }
  const std::lock_guard lock(mutex_);
  FileState& state = *FindFile(file.number);  // only the reader removes files
  unread_bytes_ -= static_cast<int64_t>(file.end - file.read);
  state.read = file.end;
  state.unsettled += static_cast<int64_t>(records.size());
  state.records_read += static_cast<int64_t>(records.size());
  state.messages_read += messages;
  if (state.read == state.end && state.records_read < state.records) {
    // Intact when they were written or first read, and damaged now: they wait for nobody.
    outstanding_ -= state.records - state.records_read;
    messages_ -= state.messages - state.messages_read;
    state.records = state.records_read;
    state.messages = state.messages_read;
  }
  return records;
}

void BufferLog::Settle(uint64_t number, int64_t messages) {
  const std::lock_guard lock(mutex_);
  FileState* file = FindFile(number);
  assert(file != nullptr && file->unsettled > 0);
  --file->unsettled;
  --outstanding_;
  messages_ -= messages;
}

void BufferLog::RemoveSettled() {
  std::vector<uint64_t> done;
  {
    const std::lock_guard lock(mutex_);
    while (!files_.empty()) {
      FileState& file = files_.front();
      if (file.read < file.end || file.unsettled > 0) break;
      if (!file.sealed) {
        if (writing_ || !queue_.empty()) break;
        active_.reset();
        file.sealed = true;
      }
      done.push_back(file.number);
      file_bytes_ -= static_cast<int64_t>(file.size);
      files_.pop_front();
    }
  }
  bool removed = !done.empty();
  for (const uint64_t number : done) {
    if (const Status status = directory_.Remove(NameOf(number)); !status.ok()) {
      log::ErrorRarely("a replayed buffer file could not be removed; it will be replayed again",
                       {{"error", status.message()}});
      removed = false;
    }
  }
  if (removed) {
    if (const Status status = directory_.Sync(); !status.ok()) {
      log::WarnRarely("the buffer's directory could not be synced", {{"error", status.message()}});
    }
  }
}

BufferLog::Stats BufferLog::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats;
  stats.messages = messages_;
  stats.bytes = file_bytes_ + queued_bytes_;
  stats.files = static_cast<int64_t>(files_.size());
  stats.healthy = healthy_;
  if (!files_.empty()) stats.oldest_micros = files_.front().first_arrival_micros;
  return stats;
}

}  // namespace queen::buffer
