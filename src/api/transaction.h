// POST /api/v1/transaction: pushes and acks that are applied all or nothing. Answers 200 with one
// result per pushed item and per ack, in the order of the operations; a refusal is a 200 too, with
// success:false, why, and no results.
//
// A 400 is for a body that is no transaction: no operations, a field of the wrong type. A value
// that cannot be stored refuses the transaction: unlike in a push, its neighbours need it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/context.h"
#include "api/push_items.h"
#include "base/status.h"
#include "base/uuid.h"
#include "http/reply.h"
#include "http/request.h"
#include "sidecar/requests.h"

namespace queen::api {

// What a body asks for.
struct Transaction {
  enum class Kind : uint8_t { kPush, kAck };
  sidecar::TransactionRequest request;
  std::vector<Kind> order;  // of the results: the next of request.pushes, or of request.acks
  std::string refusal;      // not empty: refused already, with this text
};

// Takes the body out of the request.
void HandleTransaction(const Context& context, http::Request& request, http::Reply reply);

// Fills the rest from transaction.request.body.
Status ParseTransaction(const Producer& producer, Transaction& transaction);

// REQUIRES: `order` is that of the request; the result is its result
std::string WriteTransactionReply(const Uuid& id, const sidecar::TransactionRequest& request,
                                  const std::vector<Transaction::Kind>& order,
                                  const sidecar::TransactionResult& result);

}  // namespace queen::api
