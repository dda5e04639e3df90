// What a route asks of its callers: a role, and, for tokens that are limited to some queues, what
// is done to a queue and where the request names it. Stands beside the route's path (api/routes.cc)
// and nowhere else.
#pragma once

#include <cstdint>
#include <string_view>

namespace queen::auth {

// Each may do what those before it may.
enum class Role : uint8_t { kAnybody, kReadOnly, kReadWrite, kAdmin };

// "none", "read-only", "read-write" or "admin", as in the contract.
constexpr std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kAnybody:
      return "none";
    case Role::kReadOnly:
      return "read-only";
    case Role::kReadWrite:
      return "read-write";
    case Role::kAdmin:
      return "admin";
  }
  return "";
}

// What is done to a queue. Whoever may push to it, pop from it or administer it may see it.
enum class Verb : uint8_t { kSee, kPush, kPop, kAdmin };

// Where a request says which queue it is about.
enum class Names : uint8_t {
  kNothing,    // it is about no queue
  kPath,       // ":queue"
  kQuery,      // "queue" of the query; without it, about all queues
  kPartition,  // ":partitionId", whose queue has to be found
  kHandler,    // the handler asks, because they stand in the body or the reply is made of them
  kAll,        // it is about all queues, and no part of it can be left out
};

struct Access {
  Role role = Role::kAdmin;
  Verb verb = Verb::kSee;
  Names names = Names::kAll;
};

}  // namespace queen::auth
