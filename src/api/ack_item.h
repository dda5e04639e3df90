// One acknowledgment, wherever it stands in a body (ack, ack/batch, transactions): the fields as
// they came, and what the engine is asked.
//
// An item is never a reason to refuse its neighbours. What cannot be right is answered for that
// item alone (AckItem::error): an unknown status, a lease id that is no UUID, a message that cannot
// exist.
#pragma once

#include <string_view>

#include "base/json_reader.h"
#include "base/json_scratch.h"
#include "base/status.h"
#include "sidecar/requests.h"

namespace queen::api {

inline constexpr std::string_view kMessageNotFound = "Message not found";
inline constexpr std::string_view kInvalidLease = "Invalid or expired lease";

struct AckFields {
  JsonValue transaction_id;
  JsonValue partition_id;
  JsonValue status;
  JsonValue group;
  JsonValue lease_id;
  JsonValue error;
  JsonValue cumulative;
};

// Takes the value of the field that `reader` is at, if it is one of an acknowledgment's. Of a
// repeated field the last counts.
void TakeAckField(JsonReader& reader, AckFields& fields);

// Whether the fields are there and of their types, for callers whose contract is to refuse a
// request that is not so as a whole; the first that is wrong is named.
Status CheckAckFields(const AckFields& fields, JsonScratch& scratch);

// The request for the engine. Null and, for lease, group and error, "" are as good as absent.
sidecar::AckItem MakeAckItem(const AckFields& fields, JsonScratch& scratch);

}  // namespace queen::api
