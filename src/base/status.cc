#include "base/status.h"

#include <array>

namespace queen {
namespace {

constexpr std::array kCodes = {
#define QUEEN_CODE_ROW(id, name, sqlstate, http, retryable, text) \
  CodeInfo{Code::id, name, sqlstate, http, retryable, text},
    QUEEN_ERROR_CODES(QUEEN_CODE_ROW)
#undef QUEEN_CODE_ROW
};

}  // namespace

const CodeInfo& InfoOf(Code code) { return kCodes[static_cast<size_t>(code)]; }

std::optional<Code> CodeOfSqlState(std::string_view sqlstate) {
  if (!sqlstate.starts_with("QN")) return std::nullopt;
  for (const CodeInfo& info : kCodes) {
    if (info.sqlstate == sqlstate) return info.code;
  }
  return std::nullopt;
}

Status::Status(Code code, std::string message) : code_(code), message_(std::move(message)) {
  if (message_.empty()) message_ = InfoOf(code).text;
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  return std::string(InfoOf(code_).name) + ": " + message_;
}

}  // namespace queen
