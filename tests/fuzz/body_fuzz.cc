// The bodies of requests: the first byte says to which endpoint, the rest is the body. Checked:
// nothing crashes; what a parser accepts keeps the promises that the engine builds on (texts that
// PostgreSQL takes, payloads that are JSON); and the reply to it is JSON.
#include <cstdint>
#include <string>
#include <string_view>

#include "api/ack.h"
#include "api/configure.h"
#include "api/lease.h"
#include "api/push.h"
#include "api/streams.h"
#include "api/traces.h"
#include "api/transaction.h"
#include "base/json_reader.h"
#include "base/utf8.h"
#include "require.h"

namespace {

using namespace queen;

void RequireStorable(std::string_view text, const char* what) {
  Require(IsValidUtf8(text) && text.find('\0') == std::string_view::npos, what);
}

void CheckPushItem(const sidecar::PushItem& item) {
  if (!item.error.empty()) return;
  RequireStorable(item.queue, "a queue that PostgreSQL refuses");
  RequireStorable(item.partition, "a partition that PostgreSQL refuses");
  RequireStorable(item.txn, "a transactionId that PostgreSQL refuses");
  Require(item.txn.find('\n') == std::string_view::npos, "a transactionId of two lines");
  Require(ParseJson(item.payload).ok(), "a payload that is not JSON");
  Require(item.meta.find('\n') == std::string::npos, "meta of two lines");
  Require(item.meta.empty() || ParseJson(item.meta).ok(), "meta that is not JSON");
}

void CheckAckItem(const sidecar::AckItem& item) {
  if (!item.error.empty()) return;
  RequireStorable(item.txn, "an ack's transactionId that PostgreSQL refuses");
  RequireStorable(item.group, "an ack's group that PostgreSQL refuses");
  RequireStorable(item.message, "an error text that PostgreSQL refuses");
}

void CheckPush(std::string_view body) {
  sidecar::PushRequest push;
  push.body = body;
  if (!api::ParsePush({"someone", R"("traceparent":"t")"}, push).ok()) return;
  for (const sidecar::PushItem& item : push.items) CheckPushItem(item);
  const std::vector<sidecar::PushOutcome> outcomes(push.items.size());
  Require(ParseJson(api::WritePushReply(push.items, outcomes)).ok(), "a reply that is not JSON");
}

void CheckAcks(const Result<std::vector<sidecar::AckItem>>& items) {
  if (!items.ok()) return;
  for (const sidecar::AckItem& item : *items) CheckAckItem(item);
  const std::vector<sidecar::AckOutcome> outcomes(items->size());
  Require(ParseJson(api::WriteAckReply(*items, outcomes)).ok(), "a reply that is not JSON");
}

void CheckTransaction(std::string_view body) {
  api::Transaction transaction;
  transaction.request.body = body;
  if (!api::ParseTransaction({}, transaction).ok()) return;
  for (const sidecar::PushItem& item : transaction.request.pushes) CheckPushItem(item);
  for (const sidecar::TransactionAck& ack : transaction.request.acks) CheckAckItem(ack.item);
  Require(!transaction.refusal.empty() ||
              transaction.order.size() ==
                  transaction.request.pushes.size() + transaction.request.acks.size(),
          "a transaction without an order of its results");
}

void CheckCycle(std::string_view body) {
  sidecar::TransactionRequest cycle;
  cycle.body = body;
  if (!api::ParseStreamCycle({}, cycle).ok()) return;
  for (const sidecar::PushItem& item : cycle.pushes) CheckPushItem(item);
  for (const sidecar::StreamCycle::StateOp& op : cycle.cycle->ops) {
    RequireStorable(op.key, "a key of state that PostgreSQL refuses");
  }
}

void CheckState(std::string_view body) {
  const auto state = api::ParseStreamState(body);
  if (!state.ok()) return;
  for (const std::string& key : state->keys) RequireStorable(key, "a key that PostgreSQL refuses");
  RequireStorable(state->key_prefix, "a prefix that PostgreSQL refuses");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0]) {
    case 'p':
      CheckPush(body);
      break;
    case 'a':
      CheckAcks(queen::api::ParseAck(body));
      break;
    case 'b':
      CheckAcks(queen::api::ParseAckBatch(body));
      break;
    case 't':
      CheckTransaction(body);
      break;
    case 'c':
      (void)queen::api::ParseConfigure(body, "", true);
      (void)queen::api::IgnoredNames(body);
      break;
    case 'l':
      (void)queen::api::ParseExtendLease(body);
      break;
    case 'q':
      (void)queen::api::ParseStreamQuery(body);
      break;
    case 's':
      CheckState(body);
      break;
    case 'y':
      CheckCycle(body);
      break;
    case 'r':
      (void)queen::api::ParseTrace(body);
      break;
    default:
      break;
  }
  return 0;
}
