#include "http/parser.h"

#include <fmt/format.h>

#include <algorithm>

#include "http/token.h"

namespace queen::http {
namespace {

constexpr size_t kHeadersReserve = 12;

Method MethodOf(uint8_t method) {
  switch (method) {
    case HTTP_GET:
      return Method::kGet;
    case HTTP_HEAD:
      return Method::kHead;
    case HTTP_POST:
      return Method::kPost;
    case HTTP_PUT:
      return Method::kPut;
    case HTTP_PATCH:
      return Method::kPatch;
    case HTTP_DELETE:
      return Method::kDelete;
    case HTTP_OPTIONS:
      return Method::kOptions;
    default:
      return Method::kOther;
  }
}

Status Malformed(std::string text) { return Status(Code::kInvalidRequest, std::move(text)); }

Parser& ParserOf(llhttp_t* llhttp) { return *static_cast<Parser*>(llhttp->data); }

}  // namespace

const llhttp_settings_t& Parser::Settings() {
  static const llhttp_settings_t settings = [] {
    llhttp_settings_t s;
    llhttp_settings_init(&s);
    s.on_url = OnUrl;
    s.on_header_field = OnHeaderField;
    s.on_header_value = OnHeaderValue;
    s.on_headers_complete = OnHeadersComplete;
    return s;
  }();
  return settings;
}

Parser::Event Parser::Next(std::string_view& input) {
  switch (stage_) {
    case Stage::kHead:
      return ReadHead(input);
    case Stage::kBody:
      return ReadBody(input);
    case Stage::kComplete:
      break;
    case Stage::kRefused:
      return Event::kRefused;
  }
  assert(false && "the request was not taken");
  return Event::kRequest;
}

Request Parser::Take() {
  assert(stage_ == Stage::kComplete);
  stage_ = Stage::kHead;
  scanner_.Reset();
  chunks_.Reset();
  Request taken = std::move(request_);
  request_ = Request();
  return taken;
}

size_t Parser::body_memory() const {
  const size_t memory = request_.body_.capacity();
  return stage_ == Stage::kHead || memory == std::string().capacity() ? 0 : memory;
}

Parser::Event Parser::Refuse(Status status) {
  refusal_ = std::move(status);
  Drop();
  return Event::kRefused;
}

void Parser::Drop() {
  stage_ = Stage::kRefused;
  head_ = std::string();
  request_ = Request();
}

// A head that arrives in one read is copied once, into the request. Only one that comes in pieces
// is collected in head_.
Parser::Event Parser::ReadHead(std::string_view& input) {
  const size_t had = head_.size();
  if (had == 0) {
    // Empty lines between requests are legal.
    while (input.starts_with("\r\n")) input.remove_prefix(2);
    if (input.empty()) return Event::kNeedMore;
  } else {
    head_.append(input.substr(0, limits_->header_bytes_max + 1 - had));
    if (had == 1 && head_.starts_with("\r\n")) {
      input.remove_prefix(1);
      head_.clear();
      scanner_.Reset();
      return ReadHead(input);
    }
  }
  switch (scanner_.Scan(had == 0 ? input : head_)) {
    case HeadScanner::Outcome::kRefused:
      return Refuse(scanner_.refusal());
    case HeadScanner::Outcome::kNeedMore:
      if (had == 0) head_.assign(input);
      input = {};
      return Event::kNeedMore;
    case HeadScanner::Outcome::kFound:
      break;
  }
  const size_t end = scanner_.end();
  if (had == 0) {
    request_.head_.assign(input.substr(0, end));
  } else {
    head_.resize(end);
    request_.head_ = std::exchange(head_, std::string());
  }
  input.remove_prefix(end - had);
  const Event event = FinishHead();
  const bool whole = !chunked_ && input.size() >= content_length_;
  return event == Event::kBodyFollows && whole ? ReadBody(input) : event;
}

Parser::Event Parser::Complete() {
  stage_ = Stage::kComplete;
  return Event::kRequest;
}

Parser::Event Parser::FinishHead() {
  if (Status status = ExecuteHead(); !status.ok()) return Refuse(std::move(status));
  request_.SplitTarget();
  if (Status status = CheckFraming(); !status.ok()) return Refuse(std::move(status));
  if (Status status = CheckHost(); !status.ok()) return Refuse(std::move(status));
  if (Status status = CheckExpectation(); !status.ok()) return Refuse(std::move(status));
  if (!chunked_ && content_length_ == 0) return Complete();
  stage_ = Stage::kBody;
  return continue_expected_ ? Event::kContinueExpected : Event::kBodyFollows;
}

Status Parser::ExecuteHead() {
  llhttp_t llhttp;
  llhttp_init(&llhttp, HTTP_REQUEST, &Settings());
  llhttp.data = this;
  request_.headers_.reserve(kHeadersReserve);

  // Clients send UTF-8 in targets without encoding it, which llhttp refuses; the router decides
  // about it. llhttp only counts the bytes of a target, so it is shown others in their place.
  std::string& head = request_.head_;
  const size_t target_begin = head.find(' ') + 1;
  const size_t target_end = head.find(' ', target_begin);
  std::string target;
  for (size_t i = target_begin; i < target_end; ++i) {
    if (static_cast<unsigned char>(head[i]) < 0x80) continue;
    if (target.empty()) target = head.substr(target_begin, target_end - target_begin);
    head[i] = 'x';
  }
  const llhttp_errno_t error = llhttp_execute(&llhttp, head.data(), head.size());
  if (!target.empty()) head.replace(target_begin, target.size(), target);

  if (error == HPE_PAUSED) return Status::Ok();
  if (!refusal_.ok()) return refusal_;
  if (error == HPE_INVALID_METHOD) return Malformed("The request method is unknown");
  return Malformed(fmt::format("The header is malformed: {}", llhttp_get_error_reason(&llhttp)));
}

Status Parser::CheckFraming() {
  const size_t codings = request_.CountHeaders("Transfer-Encoding");
  if (codings == 0) {
    if (content_length_ > limits_->body_bytes_max) return Status(Code::kPayloadTooLarge);
    return Status::Ok();
  }
  if (request_.CountHeaders("Content-Length") > 0) {
    return Malformed("Content-Length and Transfer-Encoding exclude each other");
  }
  if (request_.version_minor_ == 0) return Malformed("HTTP/1.0 has no Transfer-Encoding");
  if (!chunked_) return Malformed("The last Transfer-Encoding must be chunked");
  if (codings > 1 || !EqualsIgnoringCase(*request_.Header("Transfer-Encoding"), "chunked")) {
    return Status(Code::kNotImplemented, "The only Transfer-Encoding understood is chunked");
  }
  return Status::Ok();
}

Status Parser::CheckHost() const {
  const size_t hosts = request_.CountHeaders("Host");
  if (hosts > 1) return Malformed("There is more than one Host header");
  if (hosts == 0 && request_.version_minor_ > 0) return Malformed("The Host header is missing");
  return Status::Ok();
}

Status Parser::CheckExpectation() {
  continue_expected_ = false;
  // A client of HTTP/1.0 cannot read an interim reply.
  if (request_.version_minor_ == 0) return Status::Ok();
  const auto expectation = request_.Header("Expect");
  if (!expectation) return Status::Ok();
  if (!EqualsIgnoringCase(*expectation, "100-continue")) return Status(Code::kExpectationFailed);
  continue_expected_ = true;
  return Status::Ok();
}

Parser::Event Parser::ReadBody(std::string_view& input) {
  if (chunked_) return ReadChunks(input);
  const size_t size = std::min(input.size(), content_length_ - request_.body_.size());
  GrowBody(size);
  request_.body_.append(input.substr(0, size));
  input.remove_prefix(size);
  return request_.body_.size() == content_length_ ? Complete() : Event::kNeedMore;
}

Parser::Event Parser::ReadChunks(std::string_view& input) {
  switch (chunks_.Feed(input, request_.body_)) {
    case ChunkDecoder::Outcome::kNeedMore:
      return Event::kNeedMore;
    case ChunkDecoder::Outcome::kDone:
      return Complete();
    case ChunkDecoder::Outcome::kRefused:
      break;
  }
  return Refuse(chunks_.refusal());
}

Request::Span Parser::SpanOf(const char* at, size_t size) const {
  return {static_cast<uint32_t>(at - request_.head_.data()), static_cast<uint32_t>(size)};
}

int Parser::OnUrl(llhttp_t* llhttp, const char* at, size_t size) {
  Parser& self = ParserOf(llhttp);
  self.request_.target_ = self.SpanOf(at, size);
  return 0;
}

int Parser::OnHeaderField(llhttp_t* llhttp, const char* at, size_t size) {
  Parser& self = ParserOf(llhttp);
  if (!IsToken({at, size})) {
    self.refusal_ = Malformed("A header name contains an invalid character");
    return -1;
  }
  self.request_.headers_.push_back({self.SpanOf(at, size), {}});
  return 0;
}

int Parser::OnHeaderValue(llhttp_t* llhttp, const char* at, size_t size) {
  Parser& self = ParserOf(llhttp);
  while (size > 0 && (at[size - 1] == ' ' || at[size - 1] == '\t')) --size;
  self.request_.headers_.back().value = self.SpanOf(at, size);
  return 0;
}

int Parser::OnHeadersComplete(llhttp_t* llhttp) {
  Parser& self = ParserOf(llhttp);
  self.chunked_ = (llhttp->flags & F_CHUNKED) != 0;
  self.content_length_ = self.chunked_ ? 0 : llhttp->content_length;
  self.request_.method_ = MethodOf(llhttp->method);
  self.request_.version_minor_ = llhttp->http_minor;
  self.request_.keep_alive_ = llhttp_should_keep_alive(llhttp) != 0;
  // The end of the head: what follows is not for llhttp.
  return HPE_PAUSED;
}

// No memory before there is something to hold. Then it doubles, but never beyond what was
// announced: a body of 60 MB takes 60 MB.
void Parser::GrowBody(size_t more) {
  std::string& body = request_.body_;
  const size_t needed = body.size() + more;
  if (needed <= body.capacity()) return;
  const size_t wanted = std::min(content_length_, std::max(needed, 2 * body.capacity()));
  // Not body.reserve, which rounds up to twice of what it had.
  std::string grown;
  grown.reserve(wanted);
  grown.append(body);
  body.swap(grown);
}

Result<Request> ParseRequest(std::string_view bytes, const Limits& limits) {
  Parser parser(limits);
  Parser::Event event = parser.Next(bytes);
  if (event == Parser::Event::kContinueExpected || event == Parser::Event::kBodyFollows) {
    event = parser.Next(bytes);
  }
  if (event == Parser::Event::kRefused) return parser.refusal();
  if (event != Parser::Event::kRequest) return Malformed("The request is not complete");
  if (!bytes.empty()) return Malformed("Something follows the request");
  return parser.Take();
}

}  // namespace queen::http
