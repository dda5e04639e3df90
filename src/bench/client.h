// Client: one keep-alive connection to the target, one request at a time, on the thread of its
// loop.
//
//   closed --- Open, Send ---> connecting ---> open (idle or one request in flight)
//     ^                            |             |
//     +---- refused, lost, "Connection: close", Close
//
// A request whose connection is refused or lost is answered with status 0; the next Send connects
// anew. Losing an idle connection is no event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "bench/target.h"
#include "loop/loop.h"

namespace queen::bench {

struct Reply {
  int status = 0;         // 0: there was no reply
  std::string_view body;  // or why there was none
  int64_t sent_us = 0;    // steady clock
  int64_t done_us = 0;

  int64_t micros() const { return done_us - sent_us; }
  // "503: <the beginning of the body>", for people.
  std::string Describe() const;
};

class Client {
 public:
  class Listener {
   public:
    // The answer to the last Send; `reply.body` is valid until it returns or sends again.
    virtual void OnReply(const Reply& reply) = 0;

   protected:
    ~Listener() = default;
  };

  // REQUIRES: target and listener outlive it
  Client(Loop& loop, const Target& target, Listener& listener);
  ~Client();  // no OnReply any more
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Connects ahead of the first Send.
  void Open();
  bool open() const { return state_ != nullptr && connected_; }

  // `head` and `body` must stay as they are until OnReply. REQUIRES: !busy()
  void Send(std::string_view head, std::string_view body = {});
  bool busy() const { return busy_; }

  // Gives up the connection and whatever is in flight, without OnReply.
  void Close();

 private:
  struct State;  // the uv handle and the parser; freed by the close callback

  void Write();
  void OnConnected(int status);
  void OnRead(ssize_t size, const char* data);
  void OnInput(std::string_view input);
  void OnEnd(std::string_view reason);
  void Drop();
  void Deliver(int status, std::string_view body);

  Loop& loop_;
  const Target& target_;
  Listener& listener_;
  State* state_ = nullptr;  // null: closed
  bool connected_ = false;
  bool busy_ = false;
  int64_t sent_us_ = 0;
  std::string_view head_;
  std::string_view body_;
};

}  // namespace queen::bench
