// A refusal for a client that gets no connection: told on the bare socket, without waiting.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http/unique_fd.h"

namespace queen::http {

// `status` as a reply that announces the end of the connection, with the lines of `fixed_headers`.
std::string RefusalBytes(const Status& status, std::string_view fixed_headers = {});

// Sends those. The kernel takes so few bytes for a new socket; the client can read them unless it
// had sent more than was read of it.
void SendRefusal(const UniqueFd& socket, const Status& status, std::string_view fixed_headers = {});

}  // namespace queen::http
