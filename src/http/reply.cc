#include "http/reply.h"

namespace queen::http {
namespace {

constexpr int kDroppedStatus = 500;

// Passes everything on, and tells what is sent.
class WatchedTarget final : public ReplyTarget {
 public:
  WatchedTarget(std::shared_ptr<ReplyTarget> target, UniqueFunction<void(int status)> callback)
      : target_(std::move(target)), callback_(std::move(callback)) {}

  Status TakeRoom(uint64_t sequence, size_t bytes, RoomFor what) override {
    return target_->TakeRoom(sequence, bytes, what);
  }
  size_t reply_bytes_max() const override { return target_->reply_bytes_max(); }
  void Deliver(uint64_t sequence, Response response) override {
    callback_(response.status);
    target_->Deliver(sequence, std::move(response));
  }
  void Abandon(uint64_t sequence) override {
    callback_(kDroppedStatus);
    target_->Abandon(sequence);
  }
  void OnDisconnect(uint64_t sequence, UniqueFunction<void()> callback) override {
    target_->OnDisconnect(sequence, std::move(callback));
  }
  void HoldNext(uint64_t sequence) override { target_->HoldNext(sequence); }
  bool connected() const override { return target_->connected(); }

 private:
  const std::shared_ptr<ReplyTarget> target_;
  UniqueFunction<void(int status)> callback_;
};

}  // namespace

Reply& Reply::operator=(Reply&& other) noexcept {
  if (this == &other) return *this;
  if (const auto target = std::move(target_)) target->Abandon(sequence_);
  target_ = std::move(other.target_);
  sequence_ = other.sequence_;
  route_ = other.route_;
  return *this;
}

Reply::~Reply() {
  if (const auto target = std::move(target_)) target->Abandon(sequence_);
}

void Reply::Send(Response response) {
  assert(target_ != nullptr);
  // Taken out first: delivering may run code that looks at this Reply again.
  const auto target = std::move(target_);
  response.route = route_;
  target->Deliver(sequence_, std::move(response));
}

Status Reply::TakeRoom(size_t bytes, RoomFor what) {
  assert(target_ != nullptr);
  return target_->TakeRoom(sequence_, bytes, what);
}

void Reply::SendIfRoom(Response response, RoomFor what) {
  const Status room = TakeRoom(response.body.size(), what);
  room.ok() ? Send(std::move(response)) : SendError(room);
}

void Reply::OnDisconnect(UniqueFunction<void()> callback) {
  assert(target_ != nullptr);
  // A copy, because a callback that runs at once may destroy this Reply.
  const auto target = target_;
  target->OnDisconnect(sequence_, std::move(callback));
}

void Reply::OnSend(UniqueFunction<void(int status)> callback) {
  assert(target_ != nullptr);
  auto target = std::move(target_);
  target_ = std::make_shared<WatchedTarget>(std::move(target), std::move(callback));
}

}  // namespace queen::http
