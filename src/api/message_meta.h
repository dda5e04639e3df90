// The meta line of a message: what travels beside its payload, as one line of JSON in the segment's
// meta column:
//
//   {"traceId":"<uuid>","headers":{...},"producerSub":"..."}      each only when there is one
//
// Where the payload is encrypted, the push adds `"encrypted":true` (storage/payload_cipher.h).
// A message with none of them has an empty line. Lines written by SQL users may be ordered and
// spaced differently, so reading parses; members of other names are left to those who know them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"

namespace queen::api {

// `headers` is a JSON object on one line, "" for none. Returns "" if there is nothing to say.
std::string WriteMessageMeta(const std::optional<Uuid>& trace_id, std::string_view headers,
                             std::string_view producer_sub);

// Slices of the line, as JSON: quotes and braces included. "" where there is none, or where the
// line says something of another type.
struct MessageMeta {
  std::string_view trace_id;
  std::string_view headers;
  std::string_view producer_sub;
  bool encrypted = false;
};

MessageMeta ReadMessageMeta(std::string_view line);

}  // namespace queen::api
