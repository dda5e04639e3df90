// Status and Result<T>: how functions of ours fail. Nothing throws across a libuv, llhttp or libpq
// callback; an error is a code of the one list in error_codes.h and a text for a person.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error_codes.h"

namespace queen {

enum class Code {
#define QUEEN_CODE_ENUMERATOR(id, name, sqlstate, http, retryable, text) id,
  QUEEN_ERROR_CODES(QUEEN_CODE_ENUMERATOR)
#undef QUEEN_CODE_ENUMERATOR
};

struct CodeInfo {
  Code code;
  std::string_view name;
  std::string_view sqlstate;
  int http_status;
  bool retryable;
  std::string_view text;
};

// The row of the list for `code`.
const CodeInfo& InfoOf(Code code);

// The code our procedures mean by this SQLSTATE, or nullopt when it is none of ours.
std::optional<Code> CodeOfSqlState(std::string_view sqlstate);

class [[nodiscard]] Status {
 public:
  Status() = default;
  // An empty `message` takes the text of the list.
  explicit Status(Code code, std::string message = {});

  static Status Ok() { return {}; }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  bool retryable() const { return InfoOf(code_).retryable; }
  const std::string& message() const { return message_; }
  // "code_name: message", for logs.
  std::string ToString() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A T or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                                  // NOLINT
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // REQUIRES: ok()
  T& operator*() & { return Checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Checked(); }
  T&& operator*() && { return std::move(Checked()); }
  T* operator->() { return &Checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Checked(); }

 private:
  T& Checked() {
    assert(value_.has_value());
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

// Leaves the function with the Status of `expression` unless it is ok.
#define QUEEN_RETURN_IF_ERROR(expression)                                     \
  do {                                                                        \
    if (auto status_of_expression = (expression); !status_of_expression.ok()) \
      return status_of_expression;                                            \
  } while (false)

}  // namespace queen
