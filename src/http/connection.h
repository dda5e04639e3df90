// One client's connection: bytes in -> Parser -> handler -> Pipeline -> Output -> bytes out. Lives
// on the loop of its Connections and is touched by that thread only; a Reply keeps the object, not
// the socket, alive.
//
// With TLS a tls::Session stands between the socket and all that (connection_tls.cc); without, the
// bytes of the socket are the bytes of requests and replies.
//
// The state says which list of Connections it is in, and so which clock is running:
//
//   kHandshaking  TLS only, before anything else             handshake_timeout_ms
//   kNew        nothing received since it was opened         idle_timeout_ms
//   kIdle       between two requests                         idle_timeout_ms
//   kReceiving  part of a request received, no reply owed    request_timeout_ms -> 408
//   kWaiting    a handler owes a reply                       none
//   kWriting    the socket takes no more for now             write_timeout_ms without progress
//   kLingering  all is sent and our side is shut; input      linger_timeout_ms
//               is thrown away
//   kClosed     in no list
//
// While a body arrives the connection is also in the list of uploads, whatever its state: that
// clock asks for upload_bytes_per_second_min -> 408.
//
// Rules:
//   1. Nothing is written before the end of the loop's turn (Flush), so the replies of one turn
//      leave in one write.
//   2. Input that may not be served yet (pipeline full, a long poll in it, output over its limit)
//      waits in stash_, and once that is full in the kernel: memory is bounded whatever the client
//      sends.
//   3. While a reply is owed the socket is still read, to notice a client that leaves. Where rule 2
//      forbids that, Connections asks the kernel now and then (CheckPeer).
//   4. A body that does not come with its head is not read before Settings::refuse_body was asked:
//      what strangers send takes no room. Any other is charged to the process's RequestBudget as it
//      arrives and until its request is answered, also when the client has gone. When there is no
//      room, the largest bodies that are arriving on this worker give way if the newcomer is
//      smaller; otherwise the newcomer is answered 503.
//   5. After input_ended_ no more requests are taken; when the last reply is written the connection
//      lingers, so that a client still sending can read it instead of being reset.
//   6. While the worker drains, a connection between requests is left open for drain_grace_ms: a
//      request that was on its way is answered, with "Connection: close". Then rule 5.
#pragma once

#include <uv.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/budgets.h"
#include "http/output.h"
#include "http/parser.h"
#include "http/peer.h"
#include "http/pipeline.h"
#include "http/reply.h"
#include "http/unique_fd.h"
#include "tls/session.h"

namespace queen::http {

class Connections;
class Connection;

// The neighbours of a connection in one list.
struct ConnectionLinks {
  Connection* previous = nullptr;
  Connection* next = nullptr;
};

class Connection final : public ReplyTarget, public std::enable_shared_from_this<Connection> {
 public:
  enum class State {
    kHandshaking,
    kNew,
    kIdle,
    kReceiving,
    kWaiting,
    kWriting,
    kLingering,
    kClosed
  };
  static constexpr size_t kStateCount = static_cast<size_t>(State::kClosed) + 1;

  // `tls`: null for a connection without.
  Connection(Connections& owner, std::unique_ptr<tls::Session> tls);
  ~Connection() override;

  // Takes over a connected socket and starts reading. On failure the connection is closed.
  Status Open(UniqueFd socket);
  // Answers `status` to whatever the client sends, once, and closes.
  void Refuse(const Status& status);

  // The end of the loop's turn: writes what is due and does what became possible by it.
  void Flush();

  // The clocks of Connections.
  void OnRequestTimeout();
  void OnWriteTimeout();   // closes, unless the client took something since the last call
  void OnUploadTimeout();  // 408, unless the body brought enough since the last call
  // Notices a client that has left while its input is not read.
  void CheckPeer();

  // The worker drains: closes once everything owed is sent. Where nothing is owed one more request
  // is taken, if it arrives before the grace is over.
  void Drain();
  // The body that is arriving is given up with a 503; its memory is free when this returns.
  void GiveWayWithBody();
  // Whether a newcomer may have its place: the client does nothing with it, or next to nothing.
  bool MayBeSpared() const;
  // Closes at once; who was sending a request is told why, if that can be done at once.
  void GiveWay();
  // At once. Callbacks of OnDisconnect run before this returns.
  void Close();

  State state() const { return state_; }
  // The address and port of the client, "" when the socket does not tell.
  std::string client() const;
  bool reading() const { return reading_; }

  // ReplyTarget
  Status TakeRoom(uint64_t sequence, size_t bytes, RoomFor what) override;
  size_t reply_bytes_max() const override { return budgets_->replies.largest(); }
  void Deliver(uint64_t sequence, Response response) override;
  void Abandon(uint64_t sequence) override;
  void OnDisconnect(uint64_t sequence, UniqueFunction<void()> callback) override;
  void HoldNext(uint64_t sequence) override;
  bool connected() const override { return state_ != State::kClosed && !peer_left_; }

 private:
  template <ConnectionLinks Connection::*kLinks>
  friend class ConnectionList;
  friend class Connections;
  struct PendingWrite;

  // Reading. OnWire has the bytes of the socket, OnRead those of requests.
  void OnWire(std::string_view bytes);
  void OnRead(std::string_view bytes);
  void OnReadEnd();
  void TakeInput(std::string_view input);
  void TakeStash();
  bool MayTake() const;
  void EndInput();
  // True: its sender may send none, and was told so.
  bool RefuseBody();
  bool HasRoomForBody(size_t bytes);
  bool ChargeArriving();
  void RefuseArriving();
  void ReturnArriving();
  // Frees what has arrived of a body and returns its charge.
  void DropArriving();
  RequestBudget::Kind KindOf(size_t body_bytes) const;
  // The room the request that is arriving needs, as far as is known.
  size_t BodyBytesWanted() const;
  // Joins or leaves the list of uploads.
  void FollowUpload();
  size_t BytesAtMinimumRate() const;
  // Whether the input waits for us, not for the client.
  bool IsHeldBack() const;
  bool WantsReading() const;
  size_t UnreadBytes() const;
  void SetReading(bool on);

  // Serving.
  Peer MakePeer() const;
  uint64_t Begin(const Request& request);
  void Dispatch(Request request);
  void ReturnCharge(uint64_t sequence);
  void EndPromise(uint64_t sequence);
  // Nothing more is taken.
  void AnswerLast(Response response);
  void AnswerError(const Status& status) { AnswerLast(ErrorResponse(status)); }
  void CollectReplies();
  void Render(Pipeline::Slot slot);
  void SendContinue();
  void TellDisconnected();

  // TLS.
  void OnSealed(std::string_view bytes);
  void OnHandshaken();
  void OnTlsFailure();
  bool handshaking() const {
    return tls_ != nullptr && tls_->state() == tls::Session::State::kHandshaking;
  }
  // Whether all that OpenSSL has for the client is given to the kernel.
  bool NothingSealed() const { return tls_ == nullptr || tls_->output().empty(); }
  // Encrypts some of output_, at most `room` bytes.
  void Seal(size_t room);
  void LendSealBuffer();
  void ReturnSealBuffer();
  void WriteSealed();

  // Writing.
  void Write();
  void WriteLater(Output output);
  void OnWritten(int status);
  void StartLingering();
  void ChargeReplies();
  size_t ReplyBytes() const;
  // Bytes that wait to be given to the kernel.
  size_t unwritten_bytes() const;
  // Those, and what the kernel has but the client has not acknowledged.
  size_t UntakenBytes() const;

  // Finds the state the connection is in now and joins the list of it, or closes.
  void Settle();
  State CurrentState() const;
  bool OwesNothing() const {
    return pipeline_.empty() && output_.empty() && !pending_write_ && NothingSealed();
  }
  uv_stream_t* stream() { return reinterpret_cast<uv_stream_t*>(&tcp_); }
  const uv_stream_t* stream() const { return reinterpret_cast<const uv_stream_t*>(&tcp_); }
  int fd() const;

  Connections* owner_;                // nullptr once closed
  std::shared_ptr<Connection> self_;  // from Open until libuv has let go of the handle
  uv_tcp_t tcp_{};
  const std::unique_ptr<tls::Session> tls_;
  PeerRef peer_;  // made for the first request
  Parser parser_;
  Pipeline pipeline_;
  Output output_;
  std::unique_ptr<PendingWrite> pending_write_;
  std::string stash_;                       // input that waits for its turn
  const std::shared_ptr<Budgets> budgets_;  // its own: a reply may outlive the server
  size_t arriving_charge_ = 0;              // for the body in parser_
  size_t unfinished_charge_ = 0;            // of it, what was taken while the body was not whole
  std::vector<std::pair<uint64_t, size_t>> owed_charges_;  // for requests not answered, by number
  // Room for replies that are being made, by their requests' numbers, and the sum of it.
  std::vector<std::pair<uint64_t, size_t>> promises_;
  size_t promised_bytes_ = 0;
  size_t reply_charge_ = 0;  // for what the client has not taken
  size_t page_charge_ = 0;   // of it, at most, what is pages

  State state_ = State::kClosed;
  int64_t since_ms_ = 0;  // when it joined the list of its state
  ConnectionLinks state_links_;
  int64_t upload_since_ms_ = 0;   // when its body last had brought enough
  size_t upload_seen_bytes_ = 0;  // and how much of it there was
  ConnectionLinks upload_links_;
  size_t untaken_bytes_ = 0;    // UntakenBytes when progress was last looked at
  size_t discarded_bytes_ = 0;  // input nobody will look at

  bool counted_ = false;  // holds one of the process's connections
  std::string network_;   // whose connection it is, where those of one client are limited
  bool reading_ = false;
  bool dirty_ = false;        // on the list for Flush
  bool active_ = false;       // took a request since it was settled
  bool served_ = false;       // took a request, ever
  bool uploading_ = false;    // in the list of uploads
  bool input_ended_ = false;  // see rule 5
  bool peer_left_ = false;    // the client sends no more, though not all may be read yet
  bool peer_ended_ = false;   // and all it sent was read
  bool lingering_ = false;
  bool continue_owed_ = false;  // "100 Continue", once the replies before it are written
};

}  // namespace queen::http
