#include "http/reply.h"

namespace queen::http {

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

}  // namespace queen::http
