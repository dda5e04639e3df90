// Lists of what belongs to queues, with only the queues that a limited token may see. The page is
// made by SQL for everybody and then thinned out, so it may have fewer entries than its limit, and
// an offset counts those that are left out.
#pragma once

#include <string>
#include <string_view>

#include "auth/identity.h"

namespace queen::api {

// Where the name of the queue stands in the document.
struct QueueList {
  std::string_view list;  // the field of the document that is the list; "": the document is it
  std::string_view name;  // the field of an entry; "": the list is an object, its keys are names
};

inline constexpr QueueList kListOfQueues{"queues", "name"};
inline constexpr QueueList kListOfGroups{"", "queueName"};
inline constexpr QueueList kListOfLagging{"", "queue_name"};
inline constexpr QueueList kQueuesOfGroup{"", ""};

// The document without the entries of other queues; "" when it has not that form.
std::string KeepQueues(const std::string& document, const QueueList& where,
                       const auth::QueueLimits& limits);

}  // namespace queen::api
