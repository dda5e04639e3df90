// The requests of one connection that are not answered yet, in the order they came. Replies are
// completed in any order and leave from the front. No sockets here.
//
// A slot is: waiting -> answered -> taken from the front; or waiting -> dropped, which ends the
// connection once the slots before it have left.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/unique_function.h"
#include "http/response.h"

namespace queen::http {

class Pipeline {
 public:
  // What a reply must know about its request.
  struct Traits {
    bool without_body = false;  // HEAD: the length is told, the body is not sent
    bool close = false;         // the client asked for the connection to be closed
    bool announce_keep_alive = false;
    std::string_view allowed_origin{};  // outlives the connection
    size_t request_bytes = 0;           // counted against the connection until the reply is taken
  };
  struct Slot {
    enum class State : uint8_t { kWaiting, kAnswered, kDropped };
    State state = State::kWaiting;
    bool disconnect_told = false;
    bool holds_next = false;
    Traits traits;
    Response response;
    UniqueFunction<void()> on_disconnect;
  };

  // Adds a request; the number names its slot.
  uint64_t Begin(const Traits& traits);

  // Until this request is answered no further one should begin.
  void HoldNext(uint64_t sequence);

  void Answer(uint64_t sequence, Response response);
  void Drop(uint64_t sequence);
  // The slot of `sequence`, nullptr when it has left. Valid until the next call.
  Slot* Find(uint64_t sequence);

  // Takes the front slot if it is answered or dropped.
  std::optional<Slot> TakeFront();

  // Every callback set with on_disconnect, each given out once; their slots are marked.
  std::vector<UniqueFunction<void()>> TakeDisconnectCallbacks();

  // Forgets every slot. Sequence numbers are not used again.
  void Clear();

  bool empty() const { return front_ == slots_.size(); }
  size_t size() const { return slots_.size() - front_; }
  bool holds_next() const { return holding_ > 0; }
  // Bytes of the requests whose replies have not left.
  size_t request_bytes() const { return request_bytes_; }
  // Bytes of the bodies that are answered and have not left.
  size_t response_bytes() const { return response_bytes_; }

 private:
  void EndHold(Slot& slot);

  // slots_[front_] is the oldest; those before it have left. The vector is cleared whenever it runs
  // empty, so with requests one at a time it never holds more than one.
  std::vector<Slot> slots_;
  size_t front_ = 0;
  uint64_t front_sequence_ = 0;
  size_t holding_ = 0;  // slots with holds_next
  size_t request_bytes_ = 0;
  size_t response_bytes_ = 0;
};

}  // namespace queen::http
