#include "http/pipeline.h"

#include <cassert>
#include <utility>

namespace queen::http {
namespace {

// Slots that have left are removed from the vector once there are this many of them.
constexpr size_t kCompactAfter = 64;
// An idle connection keeps room for one slot.
constexpr size_t kIdleCapacity = 1;

}  // namespace

uint64_t Pipeline::Begin(const Traits& traits) {
  if (front_ >= kCompactAfter) {
    slots_.erase(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }
  slots_.emplace_back().traits = traits;
  request_bytes_ += traits.request_bytes;
  return front_sequence_ + size() - 1;
}

Pipeline::Slot* Pipeline::Find(uint64_t sequence) {
  if (sequence < front_sequence_ || sequence - front_sequence_ >= size()) return nullptr;
  return &slots_[front_ + (sequence - front_sequence_)];
}

void Pipeline::HoldNext(uint64_t sequence) {
  Slot* slot = Find(sequence);
  if (slot == nullptr || slot->holds_next) return;
  slot->holds_next = true;
  ++holding_;
}

void Pipeline::EndHold(Slot& slot) {
  if (std::exchange(slot.holds_next, false)) --holding_;
}

void Pipeline::Answer(uint64_t sequence, Response response) {
  Slot* slot = Find(sequence);
  if (slot == nullptr) return;
  assert(slot->state == Slot::State::kWaiting);
  slot->state = Slot::State::kAnswered;
  EndHold(*slot);
  slot->response = std::move(response);
  response_bytes_ += slot->response.body.size();
  // Destroyed after the slot is in order: it may own anything.
  const auto callback = std::move(slot->on_disconnect);
}

void Pipeline::Drop(uint64_t sequence) {
  Slot* slot = Find(sequence);
  if (slot == nullptr) return;
  slot->state = Slot::State::kDropped;
  EndHold(*slot);
  const auto callback = std::move(slot->on_disconnect);
}

std::optional<Pipeline::Slot> Pipeline::TakeFront() {
  if (empty() || slots_[front_].state == Slot::State::kWaiting) return std::nullopt;
  std::optional<Slot> taken = std::move(slots_[front_]);
  request_bytes_ -= taken->traits.request_bytes;
  if (taken->state == Slot::State::kAnswered) response_bytes_ -= taken->response.body.size();
  ++front_;
  ++front_sequence_;
  if (empty()) {
    slots_.clear();
    front_ = 0;
    if (slots_.capacity() > kIdleCapacity) std::vector<Slot>().swap(slots_);
  }
  return taken;
}

std::vector<UniqueFunction<void()>> Pipeline::TakeDisconnectCallbacks() {
  std::vector<UniqueFunction<void()>> callbacks;
  for (size_t i = front_; i < slots_.size(); ++i) {
    if (!slots_[i].on_disconnect) continue;
    slots_[i].disconnect_told = true;
    callbacks.push_back(std::exchange(slots_[i].on_disconnect, nullptr));
  }
  return callbacks;
}

void Pipeline::Clear() {
  front_sequence_ += size();
  front_ = 0;
  holding_ = 0;
  request_bytes_ = 0;
  response_bytes_ = 0;
  // Destroyed last: callbacks and bodies may own anything.
  const std::vector<Slot> gone = std::exchange(slots_, {});
}

}  // namespace queen::http
