#include "api/payload_cut.h"

#include <algorithm>
#include <string>

namespace queen::api {

Result<std::optional<int64_t>> ParsePayloadMax(const http::Query& query) {
  if (query.GetOr("payloadMax", "").empty()) return std::optional<int64_t>();
  const Result<int64_t> bytes_max = query.Int("payloadMax", 0, 0, INT32_MAX);
  if (!bytes_max.ok()) return bytes_max.status();
  return std::optional<int64_t>(*bytes_max);
}

std::string_view BeginningOf(std::string_view text, int64_t bytes_max) {
  size_t size = std::min(text.size(), static_cast<size_t>(bytes_max));
  if (size == text.size()) return text;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  while (size > 0 && continues(size)) --size;
  return text.substr(0, size);
}

void WritePayload(JsonWriter& writer, std::string_view name, std::string_view payload,
                  std::optional<int64_t> bytes_max) {
  writer.Key(name);
  if (!bytes_max || static_cast<int64_t>(payload.size()) <= *bytes_max) return writer.Raw(payload);
  writer.Null();
  writer.Field(std::string(name) + "Beginning", BeginningOf(payload, *bytes_max));
  writer.Field(std::string(name) + "Bytes", static_cast<int64_t>(payload.size()));
}

}  // namespace queen::api
