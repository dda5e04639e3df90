#include "buffer/replay.h"

#include <cassert>
#include <chrono>
#include <iterator>

#include "base/clock.h"
#include "base/log.h"

namespace queen::buffer {

Replay::~Replay() { assert(!thread_.joinable()); }

void Replay::Start(Submit submit) {
  submit_ = std::move(submit);
  thread_ = std::thread([this] { Run(); });
}

void Replay::Wake() {
  { const std::lock_guard lock(mutex_); }  // so that it is not missed between check and wait
  wake_.notify_one();
}

void Replay::SetPaused(bool paused) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = paused;
  }
  wake_.notify_one();
}

void Replay::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

// REQUIRES: mutex_ is held
bool Replay::HasRoom() const {
  return records_in_flight_ < limits_.records_max && bytes_in_flight_ < limits_.bytes_max;
}

void Replay::Run() {
  while (true) {
    std::vector<Refused> refused;
    bool may_send = false;
    {
      std::unique_lock lock(mutex_);
      const auto can_send = [this] {
        return !paused_ && HasRoom() && (!unsent_.empty() || log_.HasUnread());
      };
      wake_.wait(lock, [&] { return stopping_ || settled_ || !refused_.empty() || can_send(); });
      if (stopping_) return;
      settled_ = false;
      refused.swap(refused_);
      may_send = can_send();
    }
    if (!SetAside(refused)) WaitAfterError();
    log_.RemoveSettled();
    if (!may_send) continue;
    if (unsent_.empty()) {
      auto records = log_.Read();
      if (!records.ok()) {
        log::ErrorRarely("the file buffer cannot be read", {{"error", records.status().message()}});
        WaitAfterError();
        continue;
      }
      std::move(records->begin(), records->end(), std::back_inserter(unsent_));
    }
    while (!unsent_.empty() && may_send) {
      BufferLog::Record record = std::move(unsent_.front());
      unsent_.pop_front();
      {
        const std::lock_guard lock(mutex_);
        ++records_in_flight_;
        bytes_in_flight_ += static_cast<int64_t>(record.body.size());
        may_send = !paused_ && !stopping_ && HasRoom();
      }
      SubmitOne(std::move(record));
    }
  }
}

void Replay::SubmitOne(BufferLog::Record record) {
  const size_t bytes = record.body.size();
  sidecar::PushRequest request;
  request.replay = true;
  request.body = std::move(record.body);
  Group group;
  [[maybe_unused]] const bool decoded = DecodeBody(request.body, group);
  assert(decoded);
  for (const Message& message : group.messages) {
    sidecar::PushItem& item = request.items.emplace_back();
    item.queue = group.queue;
    item.partition = group.partition;
    item.payload = message.payload;
    item.txn = message.txn;
    item.meta = message.meta;
  }
  request.done = [this, file = record.file, bytes](
                     sidecar::PushRequest& answered,
                     const Result<std::vector<sidecar::PushOutcome>>& outcomes) {
    OnAnswered(file, bytes, answered, outcomes);
  };
  submit_(group.queue, std::move(request));
}

void Replay::OnAnswered(uint64_t file, size_t bytes, sidecar::PushRequest& request,
                        const Result<std::vector<sidecar::PushOutcome>>& outcomes) {
  Refused refused{file, static_cast<int64_t>(request.items.size()), {}, 0};
  if (!outcomes.ok()) return;  // the broker stops: it stays for the next start
  for (size_t i = 0; i < request.items.size(); ++i) {
    const sidecar::PushOutcome& outcome = (*outcomes)[i];
    if (outcome.status != sidecar::PushOutcome::Status::kFailed) continue;
    const sidecar::PushItem& item = request.items[i];
    const Message message{item.txn, item.payload, item.meta};
    FailedFiles::AppendLine({item.queue, item.partition, 0, {}}, message, outcome.error,
                            refused.lines);
    ++refused.line_count;
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ && refused.line_count > 0) return;  // "failed" may only mean that it stops
    --records_in_flight_;
    bytes_in_flight_ -= static_cast<int64_t>(bytes);
  }
  pace_.Settled(SteadyMillis(), refused.messages);
  held_.Remove(request.items[0].queue, request.items[0].partition);
  if (refused.line_count == 0) log_.Settle(file, refused.messages);
  {
    const std::lock_guard lock(mutex_);
    settled_ = true;
    if (refused.line_count > 0) refused_.push_back(std::move(refused));
  }
  wake_.notify_one();
}

// False: not possible now, and they are kept to be tried again.
bool Replay::SetAside(std::vector<Refused>& refused) {
  if (refused.empty()) return true;
  std::string lines;
  int64_t count = 0;
  for (const Refused& one : refused) {
    lines += one.lines;
    count += one.line_count;
  }
  const Status status = failed_.SetAsideMessages(lines, count);
  if (status.ok()) {
    for (const Refused& one : refused) log_.Settle(one.file, one.messages);
    return true;
  }
  log::ErrorRarely("refused messages could not be set aside", {{"error", status.message()}});
  const std::lock_guard lock(mutex_);
  std::move(refused.begin(), refused.end(), std::back_inserter(refused_));
  return false;
}

void Replay::WaitAfterError() {
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(limits_.retry_ms), [this] { return stopping_; });
}

}  // namespace queen::buffer
