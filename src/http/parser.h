// Bytes -> requests. The only place that knows llhttp. A Parser belongs to one connection and is
// fed whatever the socket gives; where the reads are cut never changes which requests come out, nor
// whether the stream is refused (only, at times, which of several reasons is found first).
//
// A request passes through: head (HeadScanner finds its end, then llhttp reads it in one piece) ->
// body (of a known length, or ChunkDecoder) -> complete. Anything it refuses ends the stream: the
// framing of what follows is not to be trusted, so after kRefused nothing more is parsed.
//
// Refused: what HeadScanner refuses; a header name that is no token; more than one Host, or none in
// HTTP/1.1; Content-Length twice, or with Transfer-Encoding; a coding other than chunked; an
// expectation other than 100-continue; bodies over the limit.
#pragma once

#include <llhttp.h>

#include <string>
#include <string_view>

#include "base/status.h"
#include "http/chunk_decoder.h"
#include "http/head_scanner.h"
#include "http/limits.h"
#include "http/request.h"

namespace queen::http {

class Parser {
 public:
  enum class Event {
    kNeedMore,          // the input is used up
    kBodyFollows,       // the head is fine, and its body is not all in the input; none is taken yet
    kContinueExpected,  // the head is fine, and the client waits for 100 before it sends the body
    kRequest,           // a request is complete: Take it, then go on with what is left of the input
    kRefused,           // see refusal(); the stream is lost
  };

  // `limits` must outlive the parser.
  explicit Parser(const Limits& limits) : limits_(&limits), scanner_(limits), chunks_(limits) {}

  // Takes bytes from the front of `input` until there is something to say.
  Event Next(std::string_view& input);

  // REQUIRES: Next has just returned kRequest
  Request Take();

  // REQUIRES: Next has returned kRefused
  const Status& refusal() const { return refusal_; }

  // Whether some, but not all, of a request has arrived.
  bool started() const { return stage_ == Stage::kBody || !head_.empty(); }
  // Whether one is there to be taken.
  bool complete() const { return stage_ == Stage::kComplete; }

  // Whether the head is complete and the body is not.
  bool body_arriving() const { return stage_ == Stage::kBody; }

  // Of the request whose body is arriving or has just arrived: the memory that takes, how much of
  // it is there, how long the client said it will be (0 when it did not), and its head.
  size_t body_memory() const;
  size_t body_received() const { return request_.body_.size(); }
  const Request& arriving() const { return request_; }
  size_t body_announced() const { return body_arriving() || complete() ? content_length_ : 0; }

  // The same head, to note on it who sent it. REQUIRES: body_arriving()
  Request& arriving_head() { return request_; }

  // Frees what has arrived of a request that nobody will take. Nothing more is parsed.
  void Drop();

 private:
  enum class Stage { kHead, kBody, kComplete, kRefused };

  Event ReadHead(std::string_view& input);
  Event ReadBody(std::string_view& input);
  Event ReadChunks(std::string_view& input);
  Event Complete();
  // Runs llhttp over the complete head in request_.head_ and judges the result.
  Event FinishHead();
  Status ExecuteHead();
  Status CheckFraming();
  Status CheckHost() const;
  Status CheckExpectation();
  Event Refuse(Status status);

  static const llhttp_settings_t& Settings();
  static int OnUrl(llhttp_t* llhttp, const char* at, size_t size);
  static int OnHeaderField(llhttp_t* llhttp, const char* at, size_t size);
  static int OnHeaderValue(llhttp_t* llhttp, const char* at, size_t size);
  static int OnHeadersComplete(llhttp_t* llhttp);

  Request::Span SpanOf(const char* at, size_t size) const;
  void GrowBody(size_t more);

  const Limits* limits_;
  HeadScanner scanner_;
  ChunkDecoder chunks_;
  std::string head_;  // what has arrived of a head that came in several reads
  Request request_;
  Stage stage_ = Stage::kHead;
  bool chunked_ = false;
  bool continue_expected_ = false;
  size_t content_length_ = 0;  // as announced; 0 for chunks
  Status refusal_;
};

// Parses exactly one request; for tests and tools.
Result<Request> ParseRequest(std::string_view bytes, const Limits& limits = {});

}  // namespace queen::http
