// Bodies of requests while they arrive: their charge to the process's budget, who gives way when
// that is used up, and the clock of slow ones (connection.h, rule 4).
#include <algorithm>
#include <utility>

#include "http/connections.h"

namespace queen::http {
namespace {

constexpr const char* kTooManyBytes = "Too many bytes of requests are waiting";

}  // namespace

RequestBudget::Kind Connection::KindOf(size_t body_bytes) const {
  return {.bulk = parser_.arriving().raw_path() == owner_->settings_.bulk_path,
          .arriving = !parser_.complete(),
          .large = body_bytes > RequestBudget::kSmallBytes};
}

size_t Connection::BodyBytesWanted() const {
  return std::max(parser_.body_announced(), parser_.body_memory());
}

bool Connection::RefuseBody() {
  if (!owner_->settings_.refuse_body) return false;
  if (!peer_) peer_ = std::make_shared<const Peer>(MakePeer());
  Request& head = parser_.arriving_head();
  head.SetPeer(peer_);
  std::optional<Response> refusal = owner_->settings_.refuse_body(head);
  if (!refusal) return false;
  ++owner_->counters_.requests;
  served_ = active_ = true;
  AnswerLast(*std::move(refusal));
  return true;
}

// For a client that asks before it sends.
bool Connection::HasRoomForBody(size_t bytes) {
  const RequestBudget::Kind kind = KindOf(bytes);
  return budgets_->requests.HasRoom(bytes, kind) || owner_->MakeRoomForBody(*this, bytes, kind);
}

// False: there is no room for it, now or ever.
bool Connection::ChargeArriving() {
  if (BodyBytesWanted() == 0) return true;
  const size_t memory = parser_.body_memory();
  if (BodyBytesWanted() > budgets_->requests.LargestBody(KindOf(memory).bulk)) return false;
  const RequestBudget::Kind kind = KindOf(memory);
  if (!kind.arriving) budgets_->requests.Arrived(std::exchange(unfinished_charge_, 0));
  if (memory <= arriving_charge_) return true;
  const size_t more = memory - arriving_charge_;
  if (!budgets_->requests.TryTake(more, kind) &&
      !(owner_->MakeRoomForBody(*this, more, kind) && budgets_->requests.TryTake(more, kind))) {
    return false;
  }
  arriving_charge_ = memory;
  if (kind.arriving) unfinished_charge_ = memory;
  return true;
}

void Connection::ReturnArriving() {
  budgets_->requests.Arrived(std::exchange(unfinished_charge_, 0));
  budgets_->requests.Return(std::exchange(arriving_charge_, 0));
}

// One that has arrived whole leaves the connection as it is.
void Connection::RefuseArriving() {
  if (BodyBytesWanted() > budgets_->requests.LargestBody(KindOf(0).bulk)) {
    return AnswerError(Status(Code::kPayloadTooLarge,
                              "The body is larger than the room that the broker has for bodies"));
  }
  const Status status(Code::kOverloaded, kTooManyBytes);
  if (!parser_.complete()) return AnswerError(status);
  ReturnArriving();
  ++owner_->counters_.requests;
  active_ = true;
  Deliver(Begin(parser_.Take()), ErrorResponse(status));
}

void Connection::GiveWayWithBody() {
  ++owner_->counters_.bodies_given_way;
  AnswerError(Status(Code::kOverloaded, kTooManyBytes));
}

void Connection::DropArriving() {
  if (parser_.body_arriving()) parser_.Drop();
  ReturnArriving();
  FollowUpload();
}

void Connection::FollowUpload() {
  const bool uploading = parser_.body_arriving();
  if (uploading == uploading_) return;
  uploading_ = uploading;
  if (uploading) {
    owner_->StartUpload(*this);
  } else {
    owner_->EndUpload(*this);
  }
}

void Connection::OnUploadTimeout() {
  const Limits& limits = owner_->settings_.limits;
  const auto wanted =
      static_cast<size_t>(limits.upload_bytes_per_second_min * limits.upload_grace_ms / 1000);
  if (IsHeldBack() || parser_.body_received() - upload_seen_bytes_ >= wanted) {
    owner_->EndUpload(*this);
    return owner_->StartUpload(*this);
  }
  ++owner_->counters_.slow_uploads;
  AnswerError(Status(Code::kRequestTimeout, "The body arrives too slowly"));
}

bool Connection::IsHeldBack() const {
  const Limits& limits = owner_->settings_.limits;
  return continue_owed_ || pipeline_.holds_next() ||
         pipeline_.size() >= limits.pipeline_depth_max ||
         pipeline_.request_bytes() > limits.body_bytes_max;
}

}  // namespace queen::http
