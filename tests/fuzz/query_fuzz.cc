// Query strings: the input follows the '?' of a pop. Checked: nothing crashes, decoded text is fit
// for PostgreSQL, and a pop that is accepted is within the limits that the engine builds on.
#include <cstdint>
#include <string>
#include <string_view>

#include "api/dlq.h"
#include "api/pop.h"
#include "api/query_params.h"
#include "base/utf8.h"
#include "http/parser.h"
#include "require.h"

namespace {

using namespace queen;

constexpr int64_t kNowMicros = 1'790'000'000'000'000;

void CheckPop(const sidecar::PopRequest& pop) {
  Require(pop.batch >= 1 && pop.batch <= api::kPopBatchMax, "a batch out of its limits");
  Require(pop.partitions_max >= 1, "a pop of no partition");
  Require(pop.wait_ms >= 0 && pop.wait_ms <= api::kPopTimeoutMsMax, "a wait out of its limits");
  Require(pop.lease_seconds >= 0, "a negative lease");
  Require(pop.start_mode != sidecar::StartMode::kTime || pop.start_micros >= 0,
          "a start before 1970");
  Require(!pop.group.empty() && IsValidUtf8(pop.group) && pop.group.find('\0') == std::string::npos,
          "a group that PostgreSQL refuses");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const auto query = queen::http::Query::Parse(raw);
  if (!query.ok()) return 0;
  (void)queen::api::ParsePage(*query);
  (void)queen::api::ParseDeadLetterFilter(*query);

  const queen::http::Limits limits;
  queen::http::Parser parser(limits);
  const std::string head =
      "GET /api/v1/pop/queue/q?" + std::string(raw) + " HTTP/1.1\r\nHost: q\r\n\r\n";
  std::string_view input = head;
  if (parser.Next(input) != queen::http::Parser::Event::kRequest) return 0;
  queen::http::Request request = parser.Take();
  if (!request.DecodeQuery().ok()) return 0;
  request.AddParam("queue", "q");
  const auto pop = queen::api::ParsePop(request, kNowMicros);
  if (pop.ok()) CheckPop(*pop);
  return 0;
}
