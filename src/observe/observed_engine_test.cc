#include "observe/observed_engine.h"

#include <gtest/gtest.h>

#include <map>

#include "base/clock.h"
#include "metrics/prometheus.h"
#include "observe/fake_engine.h"

namespace queen::observe {
namespace {

using sidecar::PushOutcome;
using sidecar::Verdict;

sidecar::PushItem ItemOf(std::string_view queue, std::string_view payload) {
  sidecar::PushItem item;
  item.queue = queue;
  item.payload = payload;
  return item;
}

class ObservedEngineTest : public ::testing::Test {
 protected:
  std::map<std::string, state::QueueTotals> Totals() const {
    std::map<std::string, state::QueueTotals> totals;
    for (const auto& entry : activity_.Snapshot()) totals[entry.queue] = entry.totals;
    return totals;
  }

  bool Scraped(std::string_view line) const {
    return metrics::RenderPrometheus(registry_).find(std::string(line) + "\n") != std::string::npos;
  }

  void Push(std::vector<sidecar::PushItem> items, Result<std::vector<PushOutcome>> answer) {
    sidecar::PushRequest request;
    request.items = std::move(items);
    request.done = [this](sidecar::PushRequest&, Result<std::vector<PushOutcome>> result) {
      answered_ = result.ok() ? Code::kOk : result.status().code();
    };
    observed_.Push(std::move(request));
    fake_.push.done(fake_.push, std::move(answer));
  }

  void Pop(sidecar::PopRequest request, Result<sidecar::PopResult> answer) {
    observed_.Pop(std::move(request), [this](Result<sidecar::PopResult> result) {
      answered_ = result.ok() ? Code::kOk : result.status().code();
    });
    fake_.pop(std::move(answer));
  }

  static sidecar::PopRequest PopOf(std::string queue, bool auto_ack = false) {
    sidecar::PopRequest request;
    request.queue = std::move(queue);
    request.auto_ack = auto_ack;
    return request;
  }

  // Offsets [cursor, end) of a segment that holds 0..9 and was made `age_ms` ago.
  static sidecar::PopResult Delivered(const std::string& queue, int64_t cursor, int64_t end,
                                      std::string settled, int64_t age_ms) {
    auto segment = std::make_shared<storage::Segment>();
    segment->count = 10;
    segment->created_micros = WallMicros() - age_ms * 1'000;
    sidecar::Delivery delivery;
    delivery.queue_name = queue;
    delivery.cursor = cursor;
    delivery.end = end;
    delivery.settled = std::move(settled);
    delivery.segments.push_back(segment);
    sidecar::PopResult result;
    result.deliveries.push_back(std::move(delivery));
    return result;
  }

  metrics::Registry registry_{2};
  Operations operations_{registry_};
  FakeEngine fake_;
  state::QueueActivity activity_;
  state::DeliveredIndex delivered_{100};
  ObservedEngine observed_{fake_, {operations_, 1}, activity_, delivered_};
  Code answered_ = Code::kInternal;
};

PushOutcome OutcomeOf(PushOutcome::Status status) {
  PushOutcome outcome;
  outcome.status = status;
  return outcome;
}

TEST_F(ObservedEngineTest, CountsWhatBecameOfEachPushedItem) {
  Push({ItemOf("a", "12345"), ItemOf("a", "1"), ItemOf("b", "12"), ItemOf("a", "123"),
        ItemOf("never", "1")},
       std::vector<PushOutcome>{
           OutcomeOf(PushOutcome::Status::kQueued), OutcomeOf(PushOutcome::Status::kDuplicate),
           OutcomeOf(PushOutcome::Status::kBuffered), OutcomeOf(PushOutcome::Status::kQueued),
           OutcomeOf(PushOutcome::Status::kFailed)});
  EXPECT_EQ(answered_, Code::kOk);
  const auto totals = Totals();
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals.at("a").pushed, 2);
  EXPECT_EQ(totals.at("a").push_bytes, 8);
  EXPECT_EQ(totals.at("a").duplicates, 1);
  EXPECT_EQ(totals.at("b").buffered, 1);
  EXPECT_EQ(operations_.Totals(Operation::kPush).count, 1U);
  EXPECT_EQ(operations_.Totals(Operation::kPush).items, 5U);
  EXPECT_TRUE(Scraped("queen_operation_items_failed_total{operation=\"push\"} 1"));
}

TEST_F(ObservedEngineTest, ErrorsAreCountedByCodeAndNotTimed) {
  Push({ItemOf("a", "1")}, Status(Code::kDatabaseUnavailable));
  EXPECT_EQ(answered_, Code::kDatabaseUnavailable);
  Pop(PopOf("a"), Status(Code::kOverloaded));
  observed_.RegisterStreamQuery({}, [](Result<sidecar::StreamQueryResult>) {});
  EXPECT_TRUE(
      Scraped("queen_operation_errors_total{operation=\"push\",code=\"database_unavailable\"} 1"));
  EXPECT_TRUE(Scraped("queen_operation_errors_total{operation=\"pop\",code=\"overloaded\"} 1"));
  EXPECT_TRUE(
      Scraped("queen_operation_errors_total{operation=\"stream_query\",code=\"conflict\"} 1"));
  EXPECT_EQ(operations_.Totals(Operation::kPush).count, 1U);
  EXPECT_EQ(operations_.Totals(Operation::kPush).timed, 0U);
  EXPECT_TRUE(Totals().empty());
}

TEST_F(ObservedEngineTest, CountsTheMessagesOfAPopAndTheirAge) {
  Pop(PopOf("q"), Delivered("q", 2, 8, "011", 5'000));
  const state::QueueTotals totals = Totals().at("q");
  EXPECT_EQ(totals.popped, 4);
  EXPECT_EQ(totals.pops, 1);
  EXPECT_EQ(totals.empty_pops, 0);
  EXPECT_EQ(totals.acked, 0);
  EXPECT_EQ(totals.age_count, 4);
  EXPECT_GE(totals.age_sum_ms, 4 * 4'999);
  EXPECT_GE(totals.age_max_ms, 4'999);
  EXPECT_EQ(operations_.Totals(Operation::kPop).items, 4U);
  EXPECT_EQ(operations_.Totals(Operation::kPop).timed, 1U);
}

TEST_F(ObservedEngineTest, AnAutomaticAckIsAnAck) {
  Pop(PopOf("q", true), Delivered("q", 0, 10, "", 0));
  EXPECT_EQ(Totals().at("q").popped, 10);
  EXPECT_EQ(Totals().at("q").acked, 10);
}

TEST_F(ObservedEngineTest, TimeSpentParkedIsNoLatency) {
  sidecar::PopResult empty;
  empty.parked = true;
  Pop(PopOf("q"), std::move(empty));
  EXPECT_EQ(Totals().at("q").empty_pops, 1);
  EXPECT_EQ(operations_.Totals(Operation::kPop).count, 1U);
  EXPECT_EQ(operations_.Totals(Operation::kPop).timed, 0U);
  EXPECT_TRUE(Scraped("queen_pop_wait_seconds_count 1"));
  Pop(PopOf("q"), sidecar::PopResult{});
  EXPECT_EQ(Totals().at("q").pops, 2);
  EXPECT_EQ(operations_.Totals(Operation::kPop).timed, 1U);
  EXPECT_TRUE(Scraped("queen_pop_wait_seconds_count 1"));
}

TEST_F(ObservedEngineTest, AnEmptyPopOfAFamilyBelongsToNoQueue) {
  sidecar::PopRequest request;
  request.namespace_name.emplace("n");
  Pop(std::move(request), sidecar::PopResult{});
  EXPECT_TRUE(Totals().empty());
  EXPECT_EQ(operations_.Totals(Operation::kPop).count, 1U);
}

TEST_F(ObservedEngineTest, CountsVerdictsOfAcksThatWereTaken) {
  sidecar::AckRequest request;
  std::vector<sidecar::AckOutcome> outcomes;
  const auto add = [&](Verdict verdict, bool success, bool dead_lettered) {
    sidecar::AckItem item;
    item.verdict = verdict;
    request.items.push_back(item);
    sidecar::AckOutcome outcome;
    outcome.success = success;
    outcome.queue_name = success ? "q" : "";
    outcome.dead_lettered = dead_lettered;
    outcomes.push_back(outcome);
  };
  add(Verdict::kCompleted, true, false);
  add(Verdict::kCompleted, false, false);
  add(Verdict::kFailed, true, false);
  add(Verdict::kFailed, true, true);
  add(Verdict::kDeadLetter, true, true);
  add(Verdict::kDeadLetter, true, false);  // it was settled before
  add(Verdict::kRetry, true, false);
  request.done = [](sidecar::AckRequest&, Result<std::vector<sidecar::AckOutcome>>) {};
  observed_.Ack(std::move(request));
  fake_.ack.done(fake_.ack, outcomes);
  const state::QueueTotals totals = Totals().at("q");
  EXPECT_EQ(totals.acked, 1);
  EXPECT_EQ(totals.failed, 2);
  EXPECT_EQ(totals.dead_lettered, 2);
  EXPECT_EQ(totals.retried, 1);
  EXPECT_EQ(Totals().size(), 1U);
  EXPECT_TRUE(Scraped("queen_operation_items_failed_total{operation=\"ack\"} 1"));
}

TEST_F(ObservedEngineTest, FindsTheQueueOfATransactionsAck) {
  delivered_.Add({PartitionId{7}, "source", "p", "g", 1, {}, {}});
  const auto run = [&](Result<sidecar::TransactionResult> answer) {
    sidecar::TransactionRequest request;
    request.pushes.push_back(ItemOf("sink", "123"));
    for (const int32_t partition : {7, 8}) {
      sidecar::TransactionAck ack;
      ack.item.partition = PartitionId{partition};
      request.acks.push_back(ack);
    }
    request.done = [](sidecar::TransactionRequest&, Result<sidecar::TransactionResult>) {};
    observed_.Transaction(std::move(request));
    fake_.transaction.done(fake_.transaction, std::move(answer));
  };
  sidecar::TransactionResult refused;
  refused.refusal = Status(Code::kInvalidLease);
  run(std::move(refused));
  EXPECT_TRUE(Totals().empty());
  EXPECT_TRUE(
      Scraped("queen_operation_errors_total{operation=\"transaction\",code=\"invalid_lease\"} 1"));
  run(sidecar::TransactionResult{});
  EXPECT_EQ(Totals().at("sink").pushed, 1);
  EXPECT_EQ(Totals().at("source").acked, 1);
  EXPECT_EQ(Totals().at("").acked, 1);
  EXPECT_EQ(operations_.Totals(Operation::kTransaction).items, 3U);
}

TEST_F(ObservedEngineTest, ACycleSettlesAsManyAsItsResultSays) {
  sidecar::TransactionRequest request;
  request.cycle.emplace();
  request.acks.emplace_back();
  request.done = [](sidecar::TransactionRequest&, Result<sidecar::TransactionResult>) {};
  observed_.Transaction(std::move(request));
  sidecar::TransactionResult result;
  result.cycle = {"source", 12, true};
  fake_.transaction.done(fake_.transaction, std::move(result));
  EXPECT_EQ(Totals().at("source").acked, 12);
  EXPECT_EQ(operations_.Totals(Operation::kStreamCycle).count, 1U);
  EXPECT_EQ(operations_.Totals(Operation::kTransaction).count, 0U);
}

TEST_F(ObservedEngineTest, HandsOnWhatItDoesNotMeasure) {
  sidecar::CancelPop cancel = observed_.Pop(PopOf("q"), [](Result<sidecar::PopResult>) {});
  cancel();
  EXPECT_TRUE(fake_.cancelled);
  observed_.GiveBack("g", {});
  EXPECT_EQ(fake_.given_back, "g");
  observed_.QueueChanged("q");
  EXPECT_EQ(fake_.changed, "q");
}

}  // namespace
}  // namespace queen::observe
