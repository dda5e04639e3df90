// Span: one operation on messages as it is told to a collector of traces. Which attributes it has
// is span_json.cc's to say.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/trace_context.h"
#include "base/uuid.h"
#include "observe/operations.h"

namespace queen::observe {

// What OpenTelemetry's own libraries keep of a span as well.
inline constexpr size_t kSpanLinksMax = 128;
inline constexpr size_t kSpanMessageIdsMax = 32;

// As OTLP numbers them.
enum class SpanKind { kClient = 3, kProducer = 4, kConsumer = 5 };

// The trace of a message that the span is about.
struct SpanLink {
  TraceContext context;
  std::optional<Uuid> message_id;
};

struct Span {
  Operation operation = Operation::kPush;
  SpanKind kind = SpanKind::kProducer;
  TraceContext context;
  std::array<uint8_t, 8> parent{};  // zeros: it is the first of its trace
  int64_t begin_micros = 0;         // since 1970
  int64_t end_micros = 0;

  std::string queue;      // "" = of several, or not known
  std::string partition;  // likewise
  std::optional<PartitionId> partition_id;
  std::string group;
  std::optional<Uuid> lease_id;
  std::string verdict;  // of all acks, "" = they differ
  size_t messages = 0;  // that were pushed, popped or acked
  size_t failed = 0;    // of them
  bool waited = false;  // a pop for its messages
  bool auto_ack = false;
  std::vector<Uuid> message_ids;  // of the first ones
  std::vector<SpanLink> links;
  size_t links_left_out = 0;
  std::string error;  // the name of a code, "" = it went well
  std::string error_text;

  void AddLink(SpanLink link) {
    links.size() < kSpanLinksMax ? links.push_back(link) : void(++links_left_out);
  }
  void AddMessageId(const Uuid& id) {
    if (message_ids.size() < kSpanMessageIdsMax) message_ids.push_back(id);
  }
};

}  // namespace queen::observe
