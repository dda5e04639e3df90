// For tests of this directory: the routes with an engine that records what it is asked and answers
// what it is told. Only parsing and formatting are tested with it.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/requests.h"
#include "api/context.h"
#include "api/routes.h"
#include "http/parser.h"
#include "http/router.h"
#include "http/test_target.h"
#include "loop/loop.h"
#include "sidecar/requests.h"

namespace queen::api {

class FakeEngine final : public sidecar::Engine {
 public:
  void Push(sidecar::PushRequest request) override { pushes.push_back(std::move(request)); }
  sidecar::CancelPop Pop(sidecar::PopRequest request, sidecar::PopDone done) override {
    pops.push_back(std::move(request));
    if (pop_at_once) {
      done(*std::move(pop_at_once));
      pop_at_once.reset();
      return [] {};
    }
    pop_done = std::move(done);
    return [this] { ++cancelled; };
  }
  void GiveBack(std::string group, sidecar::PopResult result) override {
    given_back.emplace_back(std::move(group), std::move(result));
  }
  void Ack(sidecar::AckRequest request) override { acks.push_back(std::move(request)); }
  void Transaction(sidecar::TransactionRequest request) override {
    transactions.push_back(std::move(request));
  }
  void RegisterStreamQuery(sidecar::StreamQueryRequest request,
                           sidecar::StreamQueryDone done) override {
    stream_queries.push_back(std::move(request));
    stream_query_done = std::move(done);
  }
  void GetStreamState(sidecar::StreamStateRequest request, sidecar::StreamStateDone done) override {
    stream_states.push_back(std::move(request));
    stream_state_done = std::move(done);
  }
  void Renew(sidecar::RenewRequest request, sidecar::RenewDone done) override {
    renews.push_back(request);
    renew_done = std::move(done);
  }

  void QueueChanged(const std::optional<std::string>& queue) override {
    changed.push_back(queue.value_or("*"));
  }

  // What the last request is answered with.
  void FinishPush(Result<std::vector<sidecar::PushOutcome>> outcomes) {
    sidecar::PushRequest& push = pushes.back();
    push.done(push, std::move(outcomes));
  }
  void FinishAck(Result<std::vector<sidecar::AckOutcome>> outcomes) {
    sidecar::AckRequest& ack = acks.back();
    ack.done(ack, std::move(outcomes));
  }

  void FinishTransaction(Result<sidecar::TransactionResult> result) {
    sidecar::TransactionRequest& transaction = transactions.back();
    transaction.done(transaction, std::move(result));
  }

  std::vector<sidecar::PushRequest> pushes;
  std::vector<sidecar::PopRequest> pops;
  std::optional<Result<sidecar::PopResult>> pop_at_once;
  sidecar::PopDone pop_done;
  int cancelled = 0;
  std::vector<std::pair<std::string, sidecar::PopResult>> given_back;
  std::vector<sidecar::AckRequest> acks;
  std::vector<sidecar::TransactionRequest> transactions;
  std::vector<sidecar::StreamQueryRequest> stream_queries;
  sidecar::StreamQueryDone stream_query_done;
  std::vector<sidecar::StreamStateRequest> stream_states;
  sidecar::StreamStateDone stream_state_done;
  std::vector<sidecar::RenewRequest> renews;
  sidecar::RenewDone renew_done;
  std::vector<std::string> changed;  // queues; "*" for all
};

// Records like FakeEngine; the test answers through the `done`s.
class FakeManager final : public admin::QueueManager {
 public:
  template <typename Request, typename T>
  struct Calls {
    std::vector<Request> requests;
    admin::Done<T> done;  // of the last

    void Take(Request request, admin::Done<T> to) {
      requests.push_back(std::move(request));
      done = std::move(to);
    }
  };

  void Configure(admin::ConfigureRequest request,
                 admin::Done<admin::ConfigureResult> done) override {
    configure.Take(std::move(request), std::move(done));
  }
  void DeleteQueue(std::string queue, admin::Done<bool> done) override {
    deletion.Take(std::move(queue), std::move(done));
  }
  void DeletePartition(std::string queue, std::string partition, admin::Done<bool> done) override {
    deletion.Take(queue + "/" + partition, std::move(done));
  }
  void ClearQueue(admin::ClearRequest request, admin::Done<int64_t> done) override {
    clear.Take(std::move(request), std::move(done));
  }
  void Seek(admin::SeekRequest request, admin::Done<int64_t> done) override {
    seek.Take(std::move(request), std::move(done));
  }
  void DeleteGroup(admin::DeleteGroupRequest request, admin::Done<int64_t> done) override {
    group_deletion.Take(std::move(request), std::move(done));
  }
  void SetSubscription(std::string group, int64_t micros, admin::Done<int64_t> done) override {
    subscription.Take({std::move(group), micros}, std::move(done));
  }
  void ListDeadLetters(admin::DeadLetterFilter filter,
                       admin::Done<admin::Listed<admin::DeadLetter>> done) override {
    dead_letters.Take(std::move(filter), std::move(done));
  }
  void RedriveDeadLetters(admin::DeadLetterFilter filter,
                          admin::Done<admin::DeadLetterProgress> done) override {
    redrive.Take(std::move(filter), std::move(done));
  }
  void PurgeDeadLetters(admin::DeadLetterFilter filter,
                        admin::Done<admin::DeadLetterProgress> done) override {
    purge.Take(std::move(filter), std::move(done));
  }
  void FindMessage(admin::MessageName name, admin::Done<admin::StoredMessage> done) override {
    find_message.Take(std::move(name), std::move(done));
  }
  void DeleteMessage(admin::MessageName name, admin::Done<std::string> done) override {
    message_deletion.Take(std::move(name), std::move(done));
  }
  void RedriveMessage(admin::MessageName name, std::optional<std::string> group,
                      admin::Done<std::vector<admin::Redriven>> done) override {
    retry.Take({std::move(name), std::move(group)}, std::move(done));
  }
  void DeadLetterMessage(admin::MessageName name, std::string group, std::string error,
                         admin::Done<std::string> done) override {
    dead_letter.Take({std::move(name), group + ": " + error}, std::move(done));
  }
  void RecordTrace(admin::TraceRequest request, admin::Done<Uuid> done) override {
    trace.Take(std::move(request), std::move(done));
  }
  void ListTraces(PartitionId partition, std::string txn,
                  admin::Done<std::vector<admin::Trace>> done) override {
    traces.Take({partition, std::move(txn)}, std::move(done));
  }
  void ListTracesByName(std::string name, admin::Page page,
                        admin::Done<admin::Listed<admin::Trace>> done) override {
    named_traces.Take({std::move(name), page}, std::move(done));
  }
  void ListTraceNames(admin::Page page,
                      admin::Done<admin::Listed<admin::TraceName>> done) override {
    trace_names.Take(page, std::move(done));
  }
  void Report(admin::ReportRequest request, admin::Done<std::string> done) override {
    report.Take(request.statement.name, std::move(done));
  }
  void FindQueues(std::vector<PartitionId> partitions,
                  admin::Done<std::vector<std::string>> done) override {
    queues_of.Take(std::move(partitions), std::move(done));
  }
  void FindStreamQueues(admin::StreamQueryName query,
                        admin::Done<std::optional<admin::StreamQueues>> done) override {
    stream_queues.Take(std::move(query), std::move(done));
  }
  void RefreshStats(admin::Done<bool> done) override { refresh.Take(true, std::move(done)); }
  void SetMaintenance(state::MaintenanceMode mode, bool enabled, admin::Done<bool> done) override {
    maintenance.Take({mode, enabled}, std::move(done));
  }

  Calls<admin::ConfigureRequest, admin::ConfigureResult> configure;
  Calls<std::string, bool> deletion;
  Calls<admin::ClearRequest, int64_t> clear;
  Calls<bool, bool> refresh;
  Calls<admin::SeekRequest, int64_t> seek;
  Calls<admin::DeleteGroupRequest, int64_t> group_deletion;
  Calls<std::pair<std::string, int64_t>, int64_t> subscription;
  Calls<admin::DeadLetterFilter, admin::Listed<admin::DeadLetter>> dead_letters;
  Calls<admin::DeadLetterFilter, admin::DeadLetterProgress> redrive;
  Calls<admin::DeadLetterFilter, admin::DeadLetterProgress> purge;
  Calls<admin::MessageName, admin::StoredMessage> find_message;
  Calls<admin::MessageName, std::string> message_deletion;
  Calls<std::pair<admin::MessageName, std::optional<std::string>>, std::vector<admin::Redriven>>
      retry;
  Calls<std::pair<admin::MessageName, std::string>, std::string> dead_letter;
  Calls<admin::TraceRequest, Uuid> trace;
  Calls<std::pair<PartitionId, std::string>, std::vector<admin::Trace>> traces;
  Calls<std::pair<std::string, admin::Page>, admin::Listed<admin::Trace>> named_traces;
  Calls<admin::Page, admin::Listed<admin::TraceName>> trace_names;
  Calls<std::vector<PartitionId>, std::vector<std::string>> queues_of;
  Calls<admin::StreamQueryName, std::optional<admin::StreamQueues>> stream_queues;
  Calls<std::string, std::string> report;  // by the statement's name
  Calls<std::pair<state::MaintenanceMode, bool>, bool> maintenance;
};

class ApiTest : public testing::Test {
 protected:
  ApiTest() { AddRoutes(context_, router_); }

  // Sends a request; what is answered, now or later, is in target().
  // `headers` are lines that end with CRLF.
  void Send(std::string_view method, std::string_view path, std::string_view body = {},
            std::string_view headers = {}) {
    auto request = http::ParseRequest(
        fmt::format("{} {} HTTP/1.1\r\nHost: x\r\n{}Content-Length: {}\r\n\r\n{}", method, path,
                    headers, body.size(), body));
    ASSERT_TRUE(request.ok()) << path << ": " << request.status().message();
    target_ = std::make_shared<http::TestTarget>();
    router_.Dispatch(*std::move(request), http::Reply(target_, 1));
  }

  // Every later request is from this one, who has a token and may do what the role may.
  void SignIn(auth::Identity identity) {
    if (identity.role == auth::Role::kAnybody) identity.role = auth::Role::kAdmin;
    context_.authenticate = [who = std::make_shared<const auth::Identity>(std::move(identity))](
                                std::optional<std::string_view> /*header*/) { return who; };
  }

  bool answered() const { return !target_->responses.empty(); }
  http::Response response() const {
    const auto found = target_->responses.find(1);
    return found == target_->responses.end() ? http::Response::Empty(0) : found->second;
  }
  // "400 {...}"
  std::string Answer() const { return fmt::format("{} {}", response().status, response().body); }
  // Sends, and expects the answer at once.
  std::string Ask(std::string_view method, std::string_view path, std::string_view body = {}) {
    Send(method, path, body);
    return Answer();
  }

  // The reply to a bad request.
  static std::string Refusal(std::string_view text) {
    return fmt::format(R"(400 {{"error":"{}","code":"invalid_request"}})", text);
  }

  FakeEngine engine_;
  FakeManager manager_;
  Loop loop_{"test"};
  storage::PayloadCipher cipher_{std::vector<EncryptionKey>()};  // no key
  Context context_{.engine = engine_,
                   .admin = manager_,
                   .loop = loop_,
                   .health = {},
                   .pop_paused = {},
                   .maintenance = {},
                   .shared_state = {},
                   .lane = {},
                   .metrics = {},
                   .disks = {},
                   .cipher = cipher_};
  http::Router router_;
  std::shared_ptr<http::TestTarget> target_;
};

}  // namespace queen::api
