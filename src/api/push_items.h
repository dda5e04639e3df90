// The items of a push, wherever they stand in a body (push, transactions, stream cycles): from the
// JSON reader to sidecar::PushItem in one pass, as views into the body.
//
// What is wrong with an item comes in two kinds:
//   1. a field of the wrong type, or no queue: the whole request is refused (a Status)
//   2. a value that cannot be stored (a name too long, a traceId that is no UUID): that item alone
//      is answered `failed` (PushItem::error), because refusing a whole request ends producers that
//      buffer
#pragma once

#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "base/json_scratch.h"
#include "base/status.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr size_t kPushItemsMax = 200'000;
inline constexpr size_t kHeadersBytesMax = 8192;

// Who pushes: what is written to every item, whatever the body says about it.
struct Producer {
  std::string_view sub;  // the authenticated one, "" for none
  // JSON members that join the headers of items which name neither a traceparent nor a tracestate
  // (request_trace.h), "" for none. They do not count for kHeadersBytesMax.
  std::string_view trace_headers = {};
};

// Reads the rest of the array that `reader` has entered and appends to `items`. Texts with escapes
// are decoded into `scratch`; everything else are slices of the body. The first error is returned
// after the array is read to its end, so that faults of the JSON are still found by Finish.
Status ReadPushItems(JsonReader& reader, const Producer& producer, JsonScratch& scratch,
                     std::vector<sidecar::PushItem>& items);

}  // namespace queen::api
