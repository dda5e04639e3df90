// Every route says who may use it, and nobody else may: each role against each route, and tokens
// that are limited to some queues.

#include "api/authorize.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "api/openapi.h"
#include "api/test_api.h"
#include "base/json_range.h"
#include "base/json_reader.h"

namespace queen::api {
namespace {

using auth::Identity;
using auth::Names;
using auth::Role;

constexpr std::string_view kPartition = "71756565-6e00-8070-8000-000000000007";

// A path that the route serves.
std::string PathOf(const http::RouteInfo& route) {
  std::string path;
  std::string_view rest = route.pattern;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view segment = rest.substr(0, rest.find('/'));
    rest.remove_prefix(segment.size());
    path += '/';
    if (segment == ":partitionId") {
      path += kPartition;
    } else {
      path += segment.starts_with(':') ? segment.substr(1) : segment;
    }
  }
  return path;
}

bool IsRefused(int status) { return status == 401 || status == 403; }

class AuthorizeTest : public ApiTest {
 protected:
  AuthorizeTest() {
    context_.health.check = [] { return Health{}; };
    context_.maintenance = [] { return MaintenanceStatus{}; };
    context_.shared_state = [](SharedStateDone) {};
    context_.lane = [](LaneQuestion, LaneDone) {};
    context_.metrics = [](MetricsFormat, MetricsDone) {};
    context_.disks = [](DisksDone) {};
  }

  // Whether the caller is let through to the handler; 0 is an answer that comes later.
  bool IsLetIn(const http::RouteInfo& route) {
    Send(http::MethodName(route.method), PathOf(route), "{}");
    return !IsRefused(response().status);
  }

  void Limit(Role role, auth::QueueLimits limits) {
    limits.limited = true;
    SignIn(Identity{.role = role, .subject = "limited", .queues = std::move(limits)});
  }
};

TEST_F(AuthorizeTest, EveryRouteHasARoleAndItIsTheDescribedOne) {
  std::map<std::string, std::string> described;
  const Result<JsonValue> document = ParseJson(OpenApiDocument());
  ASSERT_TRUE(document.ok());
  for (const JsonField& path : JsonFields(document->Find("paths"))) {
    std::string place(path.key);
    for (const JsonField& operation : JsonFields(path.value)) {
      JsonScratch scratch;
      described[std::string(operation.key) + " " + place] =
          operation.value.Find("x-queen-role").Text(scratch).text;
    }
  }
  for (size_t i = 0; i < router_.size(); ++i) {
    const http::RouteInfo& route = router_.route(i);
    ASSERT_TRUE(route.access.has_value()) << route.pattern;
    std::string key(http::MethodName(route.method));
    for (char& c : key) c = static_cast<char>(std::tolower(c));
    key += ' ';
    char before = 0;
    bool parameter = false;
    for (const char c : route.pattern) {
      if (parameter && c == '/') key += '}';
      if (c == '/') parameter = false;
      const bool begins = before == '/' && (c == ':' || c == '*');
      parameter = parameter || begins;
      key += begins ? '{' : c;
      before = c;
    }
    if (parameter) key += '}';
    EXPECT_EQ(described[key], auth::RoleName(route.access->role)) << key;
  }
}

TEST_F(AuthorizeTest, EachRoleOnEachRoute) {
  int refused = 0;
  for (const Role role : {Role::kReadOnly, Role::kReadWrite, Role::kAdmin}) {
    SignIn(Identity{.role = role});
    for (size_t i = 0; i < router_.size(); ++i) {
      const http::RouteInfo& route = router_.route(i);
      const bool may = role >= route.access->role;
      EXPECT_EQ(IsLetIn(route), may) << auth::RoleName(role) << ' ' << route.pattern;
      if (!may) {
        ++refused;
        if (!answered()) continue;  // a pop that may wait is refused later
        EXPECT_EQ(Answer(), R"(403 {"error":"Insufficient permissions","code":"forbidden"})");
      }
    }
  }
  EXPECT_GT(refused, 30);
}

TEST_F(AuthorizeTest, WithoutATokenOnlyWhatIsOpenIsServed) {
  context_.authenticate = [](std::optional<std::string_view>) -> Result<auth::IdentityRef> {
    return Status(Code::kUnauthenticated);
  };
  for (size_t i = 0; i < router_.size(); ++i) {
    const http::RouteInfo& route = router_.route(i);
    const bool open = route.access->role == Role::kAnybody;
    EXPECT_EQ(IsLetIn(route), open) << route.pattern;
    if (open) continue;
    EXPECT_EQ(Answer(), R"(401 {"error":"Authentication required","code":"unauthenticated"})");
  }
  EXPECT_EQ(Ask("OPTIONS", "/api/v1/push").substr(0, 3), "204");
  EXPECT_TRUE(engine_.pushes.empty() && engine_.pops.empty() && engine_.acks.empty());
}

TEST_F(AuthorizeTest, AValidRoleIsNoReasonToLookAtTheFirstOfTwoHeaders) {
  SignIn(Identity{.role = Role::kAdmin});
  Send("GET", "/api/v1/status", "", "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n");
  EXPECT_EQ(response().status, 401);
}

// A token for no queue at all gets nothing from any route that is about queues.
TEST_F(AuthorizeTest, ATokenForNoQueueOnEachRoute) {
  Limit(Role::kAdmin, {});
  for (size_t i = 0; i < router_.size(); ++i) {
    const http::RouteInfo& route = router_.route(i);
    switch (route.access->names) {
      case Names::kPath:
      case Names::kQuery:
      case Names::kAll:
        EXPECT_FALSE(IsLetIn(route)) << route.pattern;
        break;
      case Names::kPartition:
        EXPECT_TRUE(IsLetIn(route)) << route.pattern;  // so far
        ASSERT_FALSE(answered()) << route.pattern;
        manager_.queues_of.done(std::vector<std::string>{"orders"});
        EXPECT_EQ(response().status, 403) << route.pattern;
        break;
      case Names::kNothing:
      case Names::kHandler:
        break;
    }
  }
}

// A name in the query counts instead of that in the path, also here.
TEST_F(AuthorizeTest, TheNameThatCountsIsTheNameThatIsChecked) {
  Limit(Role::kReadWrite, {.pop = {"orders.*"}});
  EXPECT_EQ(Ask("GET", "/api/v1/resources/queues/orders.eu?:queue=mail").substr(0, 3), "403");
  EXPECT_EQ(Ask("GET", "/api/v1/pop/queue/orders.eu?:queue=mail").substr(0, 3), "403");
  Send("GET", "/api/v1/pop/queue/mail?:queue=orders.eu");
  ASSERT_EQ(engine_.pops.size(), 1U);
  EXPECT_EQ(engine_.pops[0].queue, "orders.eu");
}

TEST_F(AuthorizeTest, CallersAreToldWhoTheyAre) {
  EXPECT_EQ(Ask("GET", "/api/v1/whoami"),
            R"(200 {"authentication":false,"role":"admin","subject":null,"source":"none",)"
            R"("queues":null})");
  SignIn(Identity{.role = Role::kReadOnly, .subject = "alice"});
  EXPECT_EQ(Ask("GET", "/api/v1/whoami"),
            R"(200 {"authentication":true,"role":"read-only","subject":"alice","source":"none",)"
            R"("queues":null})");
  Limit(Role::kReadWrite, {.push = {"orders.*", "a\"b"}});
  EXPECT_EQ(Ask("GET", "/api/v1/whoami"),
            R"(200 {"authentication":true,"role":"read-write","subject":"limited","source":"none",)"
            R"("queues":{"push":["orders.*","a\"b"],"pop":[],"admin":[]}})");
}

TEST_F(AuthorizeTest, PushesAreForTheQueuesOfTheToken) {
  Limit(Role::kReadWrite, {.push = {"orders.*"}});
  Send("POST", "/api/v1/push", R"({"items":[{"queue":"orders.eu"},{"queue":"orders.us"}]})");
  EXPECT_EQ(engine_.pushes.size(), 1U);
  EXPECT_EQ(Ask("POST", "/api/v1/push", R"({"items":[{"queue":"orders.eu"},{"queue":"mail"}]})"),
            R"(403 {"error":"Insufficient permissions: this token may not push to the queue mail",)"
            R"("code":"forbidden"})");
  EXPECT_EQ(Ask("POST", "/api/v1/transaction",
                R"({"operations":[{"type":"push","items":[{"queue":"mail"}]}]})")
                .substr(0, 3),
            "403");
  EXPECT_EQ(
      Ask("POST", "/streams/v1/cycle",
          fmt::format(R"({{"query_id":"{}","partition_id":"{}","push_items":[{{"queue":"x"}}]}})",
                      "0190a6e2-5b1c-7abc-8def-0123456789ab", kPartition))
          .substr(0, 3),
      "403");
  EXPECT_EQ(engine_.pushes.size(), 1U);
  EXPECT_TRUE(engine_.transactions.empty());
}

TEST_F(AuthorizeTest, PopsAreForTheQueuesOfTheToken) {
  Limit(Role::kReadWrite, {.push = {"mail"}, .pop = {"orders.*"}});
  Send("GET", "/api/v1/pop/queue/orders.eu");
  EXPECT_EQ(engine_.pops.size(), 1U);
  EXPECT_EQ(Ask("GET", "/api/v1/pop/queue/mail").substr(0, 3), "403");
  EXPECT_EQ(Ask("GET", "/api/v1/pop/queue/orders%2Eeu%2F").substr(0, 3), "0 ");
  EXPECT_EQ(Ask("GET", "/api/v1/pop?namespace=orders").substr(0, 3), "403");
  EXPECT_EQ(engine_.pops.size(), 2U);
}

TEST_F(AuthorizeTest, AcksAreForThePartitionsOfThoseQueues) {
  Limit(Role::kReadWrite, {.pop = {"orders.*"}});
  const std::string ack = fmt::format(R"({{"transactionId":"t","partitionId":"{}"}})", kPartition);
  const std::string transaction = fmt::format(
      R"({{"operations":[{{"type":"ack","transactionId":"t","partitionId":"{}"}}]}})", kPartition);
  const std::string cycle = fmt::format(R"({{"query_id":"{}","partition_id":"{}"}})",
                                        "0190a6e2-5b1c-7abc-8def-0123456789ab", kPartition);
  const std::string trace =
      fmt::format(R"({{"transactionId":"t","partitionId":"{}","data":1}})", kPartition);
  for (const auto& [path, body] : {std::pair{"/api/v1/ack", ack},
                                   {"/api/v1/transaction", transaction},
                                   {"/streams/v1/cycle", cycle},
                                   {"/streams/v1/state/get", cycle},
                                   {"/api/v1/traces", trace}}) {
    Send("POST", path, body);
    EXPECT_FALSE(answered()) << path << Answer();
    ASSERT_TRUE(manager_.queues_of.done) << path;
    EXPECT_EQ(manager_.queues_of.requests.back(), std::vector{PartitionId{7}});
    manager_.queues_of.done(std::vector<std::string>{"mail"});
    EXPECT_EQ(response().status, 403) << path;
    Send("POST", path, body);
    manager_.queues_of.done(std::vector<std::string>{"orders.eu"});
    if (std::string_view(path).starts_with("/streams")) {
      manager_.stream_queues.done(std::optional(admin::StreamQueues{"orders.eu", ""}));
    }
    EXPECT_FALSE(answered()) << path << Answer();
  }
  EXPECT_EQ(engine_.acks.size(), 1U);
  EXPECT_EQ(engine_.transactions.size(), 2U);
  EXPECT_EQ(engine_.stream_states.size(), 1U);
  EXPECT_EQ(manager_.trace.requests.size(), 1U);
}

// Whatever the request itself names: the query was registered for queues, and those count.
TEST_F(AuthorizeTest, AStreamingQueryIsForWhoMayUseItsQueues) {
  Limit(Role::kReadWrite, {.push = {"totals"}, .pop = {"orders.*"}});
  const std::string query =
      R"({"name":"n","source_queue":"orders.eu","config_hash":"h","reset":true})";
  const std::string cycle = fmt::format(R"({{"query_id":"{}","partition_id":"{}"}})",
                                        "0190a6e2-5b1c-7abc-8def-0123456789ab", kPartition);
  const auto ask = [&](std::string_view path, const std::string& body,
                       std::optional<admin::StreamQueues> stored) {
    Send("POST", path, body);
    if (path != "/streams/v1/queries")
      manager_.queues_of.done(std::vector<std::string>{"orders.eu"});
    manager_.stream_queues.done(std::move(stored));
    return response().status;
  };
  for (const auto& [path, body] : {std::pair{"/streams/v1/queries", query},
                                   {"/streams/v1/cycle", cycle},
                                   {"/streams/v1/state/get", cycle}}) {
    EXPECT_EQ(ask(path, body, {{"mail", ""}}), 403) << path;
    EXPECT_EQ(ask(path, body, {{"orders.eu", "mail"}}), 403) << path;
  }
  EXPECT_TRUE(engine_.stream_queries.empty() && engine_.transactions.empty());
  EXPECT_TRUE(engine_.stream_states.empty());
  EXPECT_EQ(ask("/streams/v1/queries", query, {{"orders.us", "totals"}}), 0);
  EXPECT_EQ(*manager_.stream_queues.requests.back().name, "n");
  EXPECT_TRUE(engine_.stream_queries.back().reset);
  EXPECT_EQ(ask("/streams/v1/queries", query, std::nullopt), 0);
  EXPECT_FALSE(engine_.stream_queries.back().reset) << "what others register now stays";
  EXPECT_EQ(ask("/streams/v1/cycle", cycle, {{"orders.us", "totals"}}), 0);
  EXPECT_EQ(ask("/streams/v1/state/get", cycle, {{"orders.us", "totals"}}), 0);
}

TEST_F(AuthorizeTest, ChangesOfAQueueNeedItsAdministration) {
  Limit(Role::kAdmin, {.push = {"*"}, .pop = {"*"}, .admin = {"orders"}});
  EXPECT_EQ(Ask("POST", "/api/v1/configure", R"({"queue":"mail"})").substr(0, 3), "403");
  EXPECT_EQ(Ask("DELETE", "/api/v1/resources/queues/mail").substr(0, 3), "403");
  EXPECT_EQ(Ask("DELETE", "/api/v1/dlq?queue=mail").substr(0, 3), "403");
  EXPECT_EQ(Ask("DELETE", "/api/v1/dlq?all=true").substr(0, 3), "403");
  EXPECT_EQ(Ask("POST", "/api/v1/dlq/redrive?queue=orders", R"({"queue":"mail"})").substr(0, 3),
            "403");
  Send("POST", "/api/v1/configure", R"({"queue":"orders"})");
  Send("DELETE", "/api/v1/dlq?queue=orders");
  EXPECT_EQ(manager_.configure.requests.size(), 1U);
  EXPECT_EQ(manager_.purge.requests.size(), 1U);
  EXPECT_TRUE(manager_.deletion.requests.empty() && manager_.redrive.requests.empty());
}

TEST_F(AuthorizeTest, ListsHaveOnlyTheQueuesOfTheToken) {
  Limit(Role::kReadOnly, {.push = {"orders.*"}});
  const auto ask = [&](std::string_view path, std::string document) {
    Send("GET", path);
    manager_.report.done(std::move(document));
    return response().body;
  };
  EXPECT_EQ(ask("/api/v1/resources/queues",
                R"({"queues":[{"name":"mail"},{"name":"orders.eu","n":[1]}],"statsAge":1})"),
            R"({"queues":[{"name":"orders.eu","n":[1]}],"statsAge":1})");
  EXPECT_EQ(ask("/api/v1/status/queues", R"({"queues":[{"name":"mail"}],"pagination":{}})"),
            R"({"queues":[],"pagination":{}})");
  EXPECT_EQ(ask("/api/v1/consumer-groups", R"([{"queueName":"mail"},{"queueName":"orders.x"}])"),
            R"([{"queueName":"orders.x"}])");
  EXPECT_EQ(ask("/api/v1/consumer-groups/lagging", R"([{"queue_name":"mail"}])"), "[]");
  EXPECT_EQ(ask("/api/v1/consumer-groups/g", R"({"mail":{},"orders.x":{"partitions":[]}})"),
            R"({"orders.x":{"partitions":[]}})");
  EXPECT_EQ(Ask("GET", "/api/v1/messages").substr(0, 3), "403");
  EXPECT_EQ(Ask("GET", "/api/v1/messages?queue=mail").substr(0, 3), "403");
  Send("GET", "/api/v1/messages?queue=orders.eu");
  EXPECT_FALSE(answered());
}

}  // namespace
}  // namespace queen::api
