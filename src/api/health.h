// GET /livez, /readyz and /health, for the three who ask:
//
//   /livez    the process supervisor: is the loop turning? Never asks anybody else.
//   /readyz   the load balancer: may requests come here?
//   /health   people and clients: the same as the database sees it
//
// The answers come from what the broker knows at the moment; asking costs no query. A 503 says in
// its `error` what every 503 says (http/response.h).
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "http/reply.h"
#include "http/request.h"

namespace queen::api {

struct Health {
  // Statements succeed: not only that there is a connection.
  bool database_connected = false;
  // What a person has to put right before it is connected, in one sentence; "" if nothing is known.
  std::string database_problem;
  // Ok while requests should come here; otherwise a code that is a 503, and why.
  Status readiness{Code::kDatabaseUnavailable};
  // A JSON object: what is known of the other brokers.
  std::string shared_state = R"({"enabled":false})";
};

struct HealthSource {
  std::string server = "queen";
  std::string version;
  int worker_id = 0;
  // Called on the worker's loop; must not block.
  std::function<Health()> check;
};

void HandleLivez(http::Reply reply);
void HandleReadyz(const HealthSource& source, http::Reply reply);
void HandleHealth(const HealthSource& source, http::Reply reply);

}  // namespace queen::api
