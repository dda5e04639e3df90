#include "queen/producer.h"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <span>
#include <thread>

#include "batch_queue.h"
#include "codec.h"

namespace queen::client {
namespace {

// What a message takes beside its texts: names of fields, braces, quotes.
constexpr size_t kItemOverheadBytes = 100;

size_t BytesOf(const NewMessage& message) {
  size_t bytes = kItemOverheadBytes + message.queue.size() + message.partition.size() +
                 message.payload.size() + message.transaction_id.size() + message.trace_id.size();
  for (const auto& [name, value] : message.headers) bytes += name.size() + value.size();
  return bytes;
}

// `was_sent`: the request was on its way when it was stopped.
std::vector<PushOutcome> AllFailed(std::span<const NewMessage> messages, const Error& error,
                                   bool was_sent) {
  const bool maybe_stored =
      error.kind == ErrorKind::kUnknownOutcome || (error.kind == ErrorKind::kStopped && was_sent);
  std::vector<PushOutcome> outcomes;
  for (const NewMessage& message : messages) {
    PushOutcome outcome;
    outcome.status = maybe_stored ? PushStatus::kUnknown : PushStatus::kFailed;
    outcome.transaction_id = message.transaction_id;
    outcome.error = error.message;
    if (error.kind != ErrorKind::kInvalidArgument) outcome.request_error = error.kind;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace

class Producer::Impl {
 public:
  Impl(Client& client, const ProducerOptions& options) : client_(client), options_(options) {
    const int lanes = std::max(1, options_.lanes);
    for (int i = 0; i < lanes; ++i) lanes_.push_back(std::make_unique<Lane>(options_));
    for (auto& lane : lanes_) lane->thread = std::thread([this, &lane = *lane] { Run(lane); });
  }

  ~Impl() { Close(); }

  Result<std::string> Push(NewMessage message, OnOutcome on_outcome) {
    if (message.transaction_id.empty()) message.transaction_id = NewId();
    if (std::string problem = ProblemOf(message); !problem.empty()) {
      return Error{ErrorKind::kInvalidArgument, std::move(problem), "", 0};
    }
    std::string id = message.transaction_id;
    const size_t bytes = BytesOf(message);
    const size_t place = std::hash<std::string>{}(message.queue + '\0' + message.partition);
    Lane& lane = *lanes_[place % lanes_.size()];
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [&] { return closed_ || HasRoomFor(bytes); });
      if (closed_) return Error{ErrorKind::kStopped, "the producer is closed", "", 0};
      pending_messages_ += 1;
      pending_bytes_ += bytes;
      counts_.accepted += 1;
      lane.accepted += 1;
      lane.queue.Add({std::move(message), std::move(on_outcome), bytes},
                     std::chrono::steady_clock::now());
    }
    lane.changed.notify_one();
    return id;
  }

  void Flush() {
    std::unique_lock lock(mutex_);
    std::vector<uint64_t> goals;  // by lane, since each answers in order and all together do not
    for (auto& lane : lanes_) {
      goals.push_back(lane->accepted);
      lane->queue.Hurry();
      lane->changed.notify_one();
    }
    for (size_t i = 0; i < lanes_.size(); ++i) {
      answered_.wait(lock, [&] { return lanes_[i]->answered >= goals[i]; });
    }
  }

  void Close() {
    {
      const std::lock_guard lock(mutex_);
      if (closed_) return;
      closed_ = true;
    }
    room_.notify_all();
    for (auto& lane : lanes_) lane->changed.notify_one();
    for (auto& lane : lanes_) lane->thread.join();
  }

  ProducerCounts counts() const {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

 private:
  // Guarded by mutex_, but for the thread.
  struct Lane {
    explicit Lane(const ProducerOptions& options) : queue(options) {}
    BatchQueue queue;
    uint64_t accepted = 0;
    uint64_t answered = 0;
    std::condition_variable changed;
    std::thread thread;
  };

  // A message that is larger than everything allowed still goes, alone.
  bool HasRoomFor(size_t bytes) const {
    return pending_messages_ == 0 || (pending_messages_ < options_.pending_messages &&
                                      pending_bytes_ + bytes <= options_.pending_bytes);
  }

  // The thread of a lane: one request at a time, which keeps the order of its partitions.
  void Run(Lane& lane) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto now = std::chrono::steady_clock::now();
      if (!lane.queue.empty() && (closed_ || lane.queue.IsDue(now))) {
        std::vector<PendingMessage> batch = lane.queue.Take();
        lock.unlock();
        SendBatch(lane, std::move(batch));
        lock.lock();
      } else if (closed_) {
        return;
      } else if (const auto due_at = lane.queue.due_at()) {
        lane.changed.wait_until(lock, *due_at);
      } else {
        lane.changed.wait(lock);
      }
    }
  }

  void SendBatch(Lane& lane, std::vector<PendingMessage> batch) {
    std::vector<NewMessage> messages;
    messages.reserve(batch.size());
    for (PendingMessage& pending : batch) messages.push_back(std::move(pending.message));
    const std::vector<PushOutcome> outcomes = PushOrHalve(messages);
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].on_outcome) batch[i].on_outcome(outcomes[i]);
    }
    Settle(lane, batch, outcomes);
  }

  // A refusal of the whole request is about one of its messages; halves find out which.
  std::vector<PushOutcome> PushOrHalve(std::span<const NewMessage> messages) {
    {
      const std::lock_guard lock(mutex_);
      counts_.requests += 1;
    }
    const bool was_sent = !options_.stop.stop_requested();
    auto pushed = client_.Push({messages.begin(), messages.end()}, options_.stop);
    if (pushed.ok()) return std::move(*pushed);
    if (pushed.error().kind != ErrorKind::kInvalidArgument || messages.size() == 1) {
      return AllFailed(messages, pushed.error(), was_sent);
    }
    std::vector<PushOutcome> outcomes = PushOrHalve(messages.first(messages.size() / 2));
    std::vector<PushOutcome> rest = PushOrHalve(messages.subspan(messages.size() / 2));
    std::ranges::move(rest, std::back_inserter(outcomes));
    return outcomes;
  }

  void Settle(Lane& lane, const std::vector<PendingMessage>& batch,
              const std::vector<PushOutcome>& outcomes) {
    {
      const std::lock_guard lock(mutex_);
      lane.answered += batch.size();
      for (const PendingMessage& pending : batch) pending_bytes_ -= pending.bytes;
      pending_messages_ -= batch.size();
      for (const PushOutcome& outcome : outcomes) {
        (outcome.ok() ? counts_.stored : counts_.failed) += 1;
      }
    }
    room_.notify_all();
    answered_.notify_all();
  }

  Client& client_;
  const ProducerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::condition_variable answered_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  size_t pending_messages_ = 0;
  size_t pending_bytes_ = 0;
  ProducerCounts counts_;
  bool closed_ = false;
};

Producer::Producer(Client& client, const ProducerOptions& options)
    : impl_(std::make_unique<Impl>(client, options)) {}
Producer::~Producer() = default;

Result<std::string> Producer::Push(NewMessage message, OnOutcome on_outcome) {
  return impl_->Push(std::move(message), std::move(on_outcome));
}

std::future<PushOutcome> Producer::PushAsync(NewMessage message) {
  auto promise = std::make_shared<std::promise<PushOutcome>>();
  auto outcome = promise->get_future();
  const auto taken = impl_->Push(
      std::move(message), [promise](const PushOutcome& known) { promise->set_value(known); });
  if (!taken.ok()) {
    PushOutcome refused;
    refused.error = taken.error().message;
    promise->set_value(std::move(refused));
  }
  return outcome;
}

void Producer::Flush() { impl_->Flush(); }
void Producer::Close() { impl_->Close(); }
ProducerCounts Producer::counts() const { return impl_->counts(); }

}  // namespace queen::client
