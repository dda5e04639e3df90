// Reply: the right to answer one request, handed to the handler with it. Send may be called at once
// or much later (long polls), at most once, on the loop's thread; replies leave in the order of
// their requests whatever order they are sent in.
//
// The client may leave first:
//   1. A Reply outlives its connection; Send then does nothing.
//   2. The callback given to OnDisconnect runs once, as soon as the client's end of the stream is
//      seen, unless the reply was sent before. A client that only closed its sending side looks the
//      same; what is sent to it afterwards still reaches it.
//   3. A Reply destroyed unsent answers 500 internal; after its OnDisconnect callback has run it
//      just closes the connection.
#pragma once

#include <cstdint>
#include <memory>

#include "base/unique_function.h"
#include "http/response.h"

namespace queen::http {

// Whose share of the room a reply takes (ReplyBudget).
enum class RoomFor : uint8_t { kMessages, kPage };

// Where replies go: a connection, or a test.
class ReplyTarget {
 public:
  virtual ~ReplyTarget() = default;
  virtual Status TakeRoom(uint64_t sequence, size_t bytes, RoomFor what) = 0;
  virtual size_t reply_bytes_max() const = 0;
  virtual void Deliver(uint64_t sequence, Response response) = 0;
  virtual void Abandon(uint64_t sequence) = 0;
  virtual void OnDisconnect(uint64_t sequence, UniqueFunction<void()> callback) = 0;
  virtual void HoldNext(uint64_t sequence) = 0;
  virtual bool connected() const = 0;
};

class [[nodiscard]] Reply {
 public:
  Reply() = default;
  Reply(std::shared_ptr<ReplyTarget> target, uint64_t sequence)
      : target_(std::move(target)), sequence_(sequence) {}
  Reply(Reply&& other) noexcept = default;
  Reply& operator=(Reply&& other) noexcept;
  ~Reply();

  // The request took this route, which outlives the connection.
  void SetRoute(const RouteInfo& route) { route_ = &route; }

  // REQUIRES: not sent yet
  void Send(Response response);
  void SendError(const Status& status) { Send(ErrorResponse(status)); }
  // For a reply of any size to a request that changed nothing: sent if TakeRoom gives room for it,
  // and the error instead if not.
  void SendIfRoom(Response response, RoomFor what = RoomFor::kMessages);
  // The same for what people and dashboards look at, which has a small share of the room.
  void SendPage(Response response) { SendIfRoom(std::move(response), RoomFor::kPage); }

  // Takes room for a reply of `bytes` until it is sent (ReplyBudget). What has been done cannot be
  // refused, so a request that changes something takes room before it begins. kOverloaded: there is
  // none now. kPayloadTooLarge: there never is. Called again it asks for that much instead.
  // REQUIRES: not sent yet
  Status TakeRoom(size_t bytes, RoomFor what = RoomFor::kMessages);
  // The largest reply that TakeRoom ever gives room for.
  size_t bytes_max() const { return target_->reply_bytes_max(); }

  // Whether an answer is still owed: false once sent, moved from, or default made.
  explicit operator bool() const { return target_ != nullptr; }
  // False once the end of the client's stream was seen.
  bool connected() const { return target_ != nullptr && target_->connected(); }

  // The connection begins no further request before this one is answered. For requests that may
  // wait long: what stands behind them could not be answered earlier anyway, and would wait beside
  // them. REQUIRES: not sent yet
  void HoldNext() { target_->HoldNext(sequence_); }

  // Replaces an earlier callback; runs `callback` at once when the client is gone already. It may
  // send or destroy this Reply. REQUIRES: not sent yet
  void OnDisconnect(UniqueFunction<void()> callback);

  // Runs `callback` with the status when this is sent, whether or not the client is still there;
  // with 500 when it is destroyed unsent. REQUIRES: not sent yet
  void OnSend(UniqueFunction<void(int status)> callback);

 private:
  std::shared_ptr<ReplyTarget> target_;
  uint64_t sequence_ = 0;
  const RouteInfo* route_ = nullptr;
};

}  // namespace queen::http
