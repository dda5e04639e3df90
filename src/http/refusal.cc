#include "http/refusal.h"

#include <sys/socket.h>

#include "http/response.h"

namespace queen::http {

std::string RefusalBytes(const Status& status, std::string_view fixed_headers) {
  HeadTraits traits;
  traits.close = true;
  traits.fixed_headers = fixed_headers;
  const Response response = ErrorResponse(status);
  std::string bytes;
  AppendHead(response, traits, bytes);
  bytes += response.body;
  return bytes;
}

void SendRefusal(const UniqueFd& socket, const Status& status, std::string_view fixed_headers) {
  const std::string bytes = RefusalBytes(status, fixed_headers);
  (void)send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace queen::http
