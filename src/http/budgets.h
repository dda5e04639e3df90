// What the whole process may hold for its clients, shared by every worker.
#pragma once

#include "http/connection_budget.h"
#include "http/limits.h"
#include "http/reply_budget.h"
#include "http/request_budget.h"

namespace queen::http {

struct Budgets {
  explicit Budgets(const Limits& limits)
      : connections(limits.connections_max),
        requests(limits.request_bytes_max),
        replies(limits.reply_bytes_max) {}

  ConnectionBudget connections;
  RequestBudget requests;
  ReplyBudget replies;
};

}  // namespace queen::http
