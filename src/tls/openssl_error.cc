#include "tls/openssl_error.h"

#include <openssl/err.h>

namespace queen::tls {

std::string TakeError() {
  // The first says what happened, those behind it what that came to.
  const unsigned long error = ERR_peek_error();
  ERR_clear_error();
  if (error == 0) return "unknown error";
  const char* const reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : "error " + std::to_string(error);
}

bool LastErrorIs(int reason) {
  const unsigned long error = ERR_peek_last_error();
  return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == reason;
}

}  // namespace queen::tls
