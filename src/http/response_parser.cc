#include "http/response_parser.h"

namespace queen::http {
namespace {

constexpr const char* kTooLarge = "the body of the reply is too large";

ResponseParser& Self(llhttp_t* llhttp) { return *static_cast<ResponseParser*>(llhttp->data); }

}  // namespace

ResponseParser::ResponseParser() { Reset(); }

void ResponseParser::Reset() {
  llhttp_init(&llhttp_, HTTP_RESPONSE, &Settings());
  llhttp_.data = this;
  complete_ = false;
  body_.clear();
  problem_.clear();
}

ResponseParser::Event ResponseParser::Next(std::string_view& input) {
  if (complete_) {
    complete_ = false;
    llhttp_resume(&llhttp_);
  }
  const llhttp_errno_t result = llhttp_execute(&llhttp_, input.data(), input.size());
  if (result == HPE_OK) {
    input = {};
    return Event::kNeedMore;
  }
  if (result == HPE_PAUSED && complete_) {
    input.remove_prefix(static_cast<size_t>(llhttp_get_error_pos(&llhttp_) - input.data()));
    return Event::kResponse;
  }
  if (!problem_.empty()) return Event::kBroken;
  const char* const reason = llhttp_get_error_reason(&llhttp_);
  problem_ = reason != nullptr && *reason != '\0' ? reason : llhttp_errno_name(result);
  return Event::kBroken;
}

ResponseParser::Event ResponseParser::Finish() {
  if (complete_) {
    complete_ = false;
    llhttp_resume(&llhttp_);
  }
  llhttp_finish(&llhttp_);
  if (complete_) return Event::kResponse;
  problem_ = "the connection was closed before the reply was complete";
  return Event::kBroken;
}

const llhttp_settings_t& ResponseParser::Settings() {
  static const llhttp_settings_t settings = [] {
    llhttp_settings_t made;
    llhttp_settings_init(&made);
    made.on_message_begin = OnMessageBegin;
    made.on_headers_complete = OnHeadersComplete;
    made.on_body = OnBody;
    made.on_message_complete = OnMessageComplete;
    return made;
  }();
  return settings;
}

int ResponseParser::OnMessageBegin(llhttp_t* llhttp) {
  Self(llhttp).body_.clear();
  return HPE_OK;
}

int ResponseParser::OnHeadersComplete(llhttp_t* llhttp) {
  ResponseParser& self = Self(llhttp);
  self.status_ = llhttp_get_status_code(llhttp);
  if (llhttp->content_length > kBodyBytesMax) {
    self.problem_ = kTooLarge;
    return -1;
  }
  self.body_.reserve(static_cast<size_t>(llhttp->content_length));
  return HPE_OK;
}

int ResponseParser::OnBody(llhttp_t* llhttp, const char* at, size_t size) {
  ResponseParser& self = Self(llhttp);
  if (self.body_.size() + size > kBodyBytesMax) {
    self.problem_ = kTooLarge;
    return -1;
  }
  self.body_.append(at, size);
  return HPE_OK;
}

int ResponseParser::OnMessageComplete(llhttp_t* llhttp) {
  ResponseParser& self = Self(llhttp);
  if (self.status_ < 200) return HPE_OK;
  self.keep_alive_ = llhttp_should_keep_alive(llhttp) != 0;
  self.complete_ = true;
  return HPE_PAUSED;
}

}  // namespace queen::http
