// Bytes -> replies, for a client of ours (`queen bench`). A ResponseParser belongs to one
// connection and is fed whatever the socket gives; where the reads are cut changes nothing.
//
// Understood: Content-Length, chunked bodies, replies without a body (204, 304) and bodies that
// end with the connection (Finish). Interim replies (1xx) are skipped. A body over kBodyBytesMax,
// or anything llhttp refuses, ends the stream.
#pragma once

#include <llhttp.h>

#include <string>
#include <string_view>

namespace queen::http {

class ResponseParser {
 public:
  static constexpr size_t kBodyBytesMax = size_t{256} << 20;

  enum class Event {
    kNeedMore,  // the input is used up
    kResponse,  // status(), body() and keep_alive() are those of a complete reply
    kBroken,    // see problem(); the stream is lost
  };

  ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  // Forgets everything: the next byte is the first of a new connection.
  void Reset();

  // Takes bytes from the front of `input` until there is something to say. A body() given out
  // before is no longer valid.
  Event Next(std::string_view& input);

  // The peer has closed its side: kResponse if that completes a reply, else kBroken.
  Event Finish();

  int status() const { return status_; }
  std::string_view body() const { return body_; }
  // Whether another request may follow on this connection.
  bool keep_alive() const { return keep_alive_; }
  const std::string& problem() const { return problem_; }

 private:
  static const llhttp_settings_t& Settings();
  static int OnMessageBegin(llhttp_t* llhttp);
  static int OnHeadersComplete(llhttp_t* llhttp);
  static int OnBody(llhttp_t* llhttp, const char* at, size_t size);
  static int OnMessageComplete(llhttp_t* llhttp);

  llhttp_t llhttp_{};
  int status_ = 0;
  bool keep_alive_ = false;
  bool complete_ = false;
  std::string body_;
  std::string problem_;
};

}  // namespace queen::http
