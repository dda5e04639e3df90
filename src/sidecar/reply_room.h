// ReplyRoom: the bytes of replies that the whole process may hold, as far as pops are concerned. A
// pop takes room before it is given messages, for as much as it may be given, so that what is on
// its way is bounded as well. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace queen::sidecar {

class ReplyRoom {
 public:
  virtual ~ReplyRoom() = default;
  // Takes room for a reply of `bytes`, or returns false when there is none now. Who is not first in
  // the order (place 0: not in it) leaves free what the first needs.
  [[nodiscard]] virtual bool TryTake(size_t bytes, uint64_t place) = 0;
  // A reply for which there was room for `before` bytes has, or is expected to have, `now` bytes.
  virtual void Resize(size_t before, size_t now) = 0;
  // What is left for large replies.
  virtual size_t LargeFree() const = 0;
  // Not even a small reply has room.
  virtual bool full() const = 0;

  // The order of those who wait for room for a large reply: a new place at its end, how many bytes
  // are needed there, and its end.
  virtual uint64_t Join(size_t bytes) = 0;
  virtual void Change(uint64_t place, size_t bytes) = 0;
  virtual void Leave(uint64_t place) = 0;
};

// A place in the order of those who wait for room; destroying it leaves the order.
class RoomPlace {
 public:
  // REQUIRES: `room` outlives it
  RoomPlace(ReplyRoom& room, size_t bytes) : room_(room), number_(room.Join(bytes)) {}
  ~RoomPlace() { room_.Leave(number_); }
  RoomPlace(const RoomPlace&) = delete;
  RoomPlace& operator=(const RoomPlace&) = delete;

  void Change(size_t bytes) { room_.Change(number_, bytes); }
  uint64_t number() const { return number_; }

 private:
  ReplyRoom& room_;
  const uint64_t number_;
};

// Room that was taken; destroying it returns it.
class TakenRoom {
 public:
  // nullptr when there is no room now, for who has `place` (may be null). REQUIRES: `room` outlives
  // it
  static std::shared_ptr<TakenRoom> TryTake(ReplyRoom& room, size_t bytes, const RoomPlace* place) {
    if (!room.TryTake(bytes, place != nullptr ? place->number() : 0)) return nullptr;
    return std::shared_ptr<TakenRoom>(new TakenRoom(room, bytes));
  }
  ~TakenRoom() { Resize(0); }
  TakenRoom(const TakenRoom&) = delete;
  TakenRoom& operator=(const TakenRoom&) = delete;

  void Resize(size_t bytes) {
    room_.Resize(bytes_, bytes);
    bytes_ = bytes;
  }

 private:
  TakenRoom(ReplyRoom& room, size_t bytes) : room_(room), bytes_(bytes) {}

  ReplyRoom& room_;
  size_t bytes_;
};

}  // namespace queen::sidecar
