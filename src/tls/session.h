// Session: one client's TLS between the bytes of its socket and those of its requests. It touches
// no socket: what arrives is given to Receive and taken as plain text with Read; what is to be sent
// stands in output() for whoever owns the socket. Nothing of it is shared between sessions but the
// Context. One thread at a time.
//
//   kHandshaking --> kOpen --> kEnded   the client sends no more (close_notify); we still may
//        |             |
//        +-------------+-----> kFailed  output() may hold the alert that says why
//
// Memory: a record that has not arrived whole (16 KiB at most) and output(), which its owner
// empties. Between two records OpenSSL's buffers are given back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tls/context.h"
#include "tls/handles.h"

namespace queen::tls {

class Session {
 public:
  enum class State { kHandshaking, kOpen, kEnded, kFailed };

  explicit Session(std::shared_ptr<const Context> context);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Bytes of the client, which must stay as they are until Read returns nothing.
  // REQUIRES: what was given before is read
  void Receive(std::string_view bytes) { input_ = bytes; }
  // Goes on with the handshake, or decrypts into `buffer`. Empty: all that was received is used up,
  // or the session has failed.
  std::string_view Read(char* buffer, size_t size);

  // Adds `plain` to output(), encrypted. REQUIRES: may_send()
  void Send(std::string_view plain);
  // Tells the client that nothing follows, if there is still a way to.
  void End();
  // Bytes for the client. The owner takes them away.
  std::string& output() { return output_; }
  const std::string& output() const { return output_; }

  State state() const { return state_; }
  bool may_send() const { return state_ == State::kOpen || state_ == State::kEnded; }
  // Why it is kFailed, for people.
  const std::string& failure() const { return failure_; }
  // The client speaks HTTP without TLS. Only of a session that is kFailed.
  bool met_plain_http() const { return met_plain_http_; }
  // Once the handshake is over: the owner of the client's certificate (NameOf), "" for none.
  const std::string& client_name() const { return client_name_; }
  // Likewise: whether the client came back with a ticket.
  bool resumed() const { return resumed_; }

 private:
  friend int ReadBio(BIO* bio, char* buffer, int size);
  friend int WriteBio(BIO* bio, const char* bytes, int size);

  void Handshake();
  void Fail();

  const std::shared_ptr<const Context> context_;
  std::string_view input_;
  std::string output_;
  SslPtr ssl_;
  State state_ = State::kHandshaking;
  bool met_plain_http_ = false;
  bool resumed_ = false;
  std::string failure_;
  std::string client_name_;
};

}  // namespace queen::tls
