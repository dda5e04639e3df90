// Result<T>: a value, or the Error that says why there is none. The library never throws; what a
// handler of the caller throws is caught where the handler is called.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace queen::client {

enum class ErrorKind {
  kInvalidArgument,  // the call is wrong (HTTP 400, 413, or found out before it was sent)
  kDenied,           // no token, or one that may not do this (401, 403)
  kNotFound,         // what is named does not exist (404)
  kRefused,          // the broker says no for another reason
  kUnreachable,      // no broker answered; nothing of the call was done
  kUnavailable,      // a broker answered that it cannot do it (503, 429), for as long as was tried
  kUnknownOutcome,   // the reply was lost: the call was done, or it was not
  kBadReply,         // the answer is none of a broker
  kStopped,          // the caller asked to stop
};

struct Error {
  ErrorKind kind = ErrorKind::kRefused;
  std::string message;  // for people; the broker's own text where it sent one
  std::string code;     // the broker's stable name of the error, or ""
  int http_status = 0;  // 0: there was no reply
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: returns read better
  Result(Error error) : error_(std::move(error)) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: !ok()
  const Error& error() const { return error_; }

  // REQUIRES: ok()
  T& operator*() & { return Checked(); }
  T&& operator*() && { return std::move(Checked()); }
  const T& operator*() const& { return const_cast<Result*>(this)->Checked(); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Checked(); }

 private:
  T& Checked() {
    assert(value_.has_value());
    return *value_;
  }

  std::optional<T> value_;
  Error error_;
};

}  // namespace queen::client
