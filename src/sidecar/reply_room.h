// ReplyRoom: the bytes of replies that the whole process may hold, as far as pops are concerned. A
// pop takes room before it is given messages, for as much as it may be given, so that what is on
// its way is bounded as well. Any thread.
#pragma once

#include <cstddef>
#include <memory>

namespace queen::sidecar {

class ReplyRoom {
 public:
  virtual ~ReplyRoom() = default;
  // Takes room for a reply of `bytes`, or returns false when there is none now.
  [[nodiscard]] virtual bool TryTake(size_t bytes) = 0;
  // A reply for which there was room for `before` bytes has, or is expected to have, `now` bytes.
  virtual void Resize(size_t before, size_t now) = 0;
  // What is left for large replies.
  virtual size_t LargeFree() const = 0;
  // Not even a small reply has room.
  virtual bool full() const = 0;
};

// Room that was taken; destroying it returns it.
class TakenRoom {
 public:
  // nullptr when there is no room now. REQUIRES: `room` outlives it
  static std::shared_ptr<TakenRoom> TryTake(ReplyRoom& room, size_t bytes) {
    if (!room.TryTake(bytes)) return nullptr;
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
