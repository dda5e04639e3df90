// Payloads in replies for people: at most so many bytes of each. A longer one is left out, and its
// beginning stands beside as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json_writer.h"
#include "base/status.h"
#include "http/query.h"

namespace queen::api {

// `payloadMax` of the query; nullopt: as long as they are.
Result<std::optional<int64_t>> ParsePayloadMax(const http::Query& query);

// At most `bytes_max` bytes, and no half of a character.
std::string_view BeginningOf(std::string_view text, int64_t bytes_max);

// The member `name` of an open object: the payload, which is JSON. One that is too long is null,
// and there are `<name>Beginning` and `<name>Bytes`.
void WritePayload(JsonWriter& writer, std::string_view name, std::string_view payload,
                  std::optional<int64_t> bytes_max);

}  // namespace queen::api
