// FamilyPops between a client that leaves, or a wait that ends, and the queue's pop that is
// answered at that moment. The pops of queues are answered by the test.
#include "sidecar/family_pops.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <future>

#include "pg/slots.h"
#include "pg/testing/loop_thread.h"
#include "pg/testing/postgres.h"
#include "storage/migrator.h"

namespace queen::sidecar {
namespace {

class NoNotices final : public Notices {
 public:
  void Pushed(std::string_view, std::string_view, PartitionId,
              const std::vector<engine::SegmentSpan>&) override {}
  void Freed(std::string_view, std::string_view, PartitionId, std::string_view,
             const LeaseEnd&) override {}
  void Born(std::string_view) override {}
};

// Says to every probe that something is there, and keeps pops for the test to answer.
class HeldEngine final : public Engine {
 public:
  CancelPop Pop(PopRequest request, PopDone done) override {
    if (request.look && request.wait_ms == 0) {
      PopResult found;
      found.found = true;
      done(std::move(found));
    } else if (!request.look) {
      asked = std::move(request);
      answer = std::move(done);
      if (on_asked) on_asked->set_value();
    }
    return [] {};
  }
  void GiveBack(std::string group, PopResult result) override {
    given_back.emplace_back(std::move(group), std::move(result));
  }
  void Push(PushRequest) override {}
  void Ack(AckRequest) override {}
  void Transaction(TransactionRequest) override {}
  void RegisterStreamQuery(StreamQueryRequest, StreamQueryDone) override {}
  void GetStreamState(StreamStateRequest, StreamStateDone) override {}
  void Renew(RenewRequest, RenewDone) override {}
  void QueueChanged(const std::optional<std::string>&) override {}

  PopRequest asked;
  PopDone answer;
  std::promise<void>* on_asked = nullptr;
  std::vector<std::pair<std::string, PopResult>> given_back;
};

PopResult OneDelivery(bool leased) {
  PopResult result;
  result.lease_id = MakeUuidV7();
  result.leased = leased;
  result.deliveries.resize(1);
  return result;
}

class FamilyPopsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto connection =
        pg::BlockingConnection::Connect(std::getenv("QUEEN_TEST_DATABASE_URL"), 10'000);
    ASSERT_TRUE(connection.ok()) << connection.status().message();
    ASSERT_TRUE(storage::Migrate(*connection, storage::EmbeddedSchema(), {}).ok());
    pg::testing::Postgres().Ask(
        "SELECT queue_id FROM queen.ensure_partitions(ARRAY['family.a'], ARRAY['p'])");
    SidecarOptions options;
    options.broker = 1;
    options.own = {1, 1};
    options.generation = &generation_;
    thread_.Call([&] {
      auto slots = std::make_unique<pg::Slots>(thread_.loop(), pg::testing::Postgres::Options(),
                                               options.slots);
      sidecar_ = std::make_unique<Sidecar>(thread_.loop(), std::move(slots), options, delivered_,
                                           capacity_, cipher_, notices_);
      families_ = std::make_unique<FamilyPops>(thread_.loop(), engine_, *sidecar_);
      sidecar_->Start();
    });
  }

  void TearDown() override {
    std::promise<void> closed;
    thread_.Call([&] { sidecar_->Close([&] { closed.set_value(); }); });
    closed.get_future().wait();
    thread_.Call([&] {
      families_.reset();
      sidecar_.reset();
    });
  }

  static PopRequest Request(const std::string& family, int64_t wait_ms) {
    PopRequest request;
    request.namespace_name = family;
    request.group = "g";
    request.wait_ms = wait_ms;
    return request;
  }

  using Answer = std::shared_ptr<std::promise<Result<PopResult>>>;
  // The answer, when it comes.
  std::future<Result<PopResult>> Submit(uint64_t ticket, PopRequest request) {
    Answer answer = std::make_shared<Answer::element_type>();
    auto future = answer->get_future();
    thread_.Call([&] {
      families_->Submit(ticket, std::move(request), [answer](Result<PopResult> result) {
        answer->set_value(std::move(result));
      });
    });
    return future;
  }

  // A pop of the family whose queue has been asked.
  std::future<Result<PopResult>> SubmitAndServe(uint64_t ticket, PopRequest request) {
    std::promise<void> asked;
    thread_.Call([&] { engine_.on_asked = &asked; });
    auto answer = Submit(ticket, std::move(request));
    asked.get_future().wait();
    thread_.Call([&] { engine_.on_asked = nullptr; });
    return answer;
  }

  // The queue's pop is answered, and that was heard.
  void AnswerQueue(PopResult result) {
    thread_.Call([&] { engine_.answer(std::move(result)); });
    thread_.Call([] {});
  }

  state::DeliveredIndex delivered_{1'000};
  state::QueueCapacity capacity_;
  const storage::PayloadCipher cipher_{{}};
  engine::Generation generation_;
  NoNotices notices_;
  HeldEngine engine_;
  pg::testing::LoopThread thread_;
  std::unique_ptr<Sidecar> sidecar_;
  std::unique_ptr<FamilyPops> families_;
};

TEST_F(FamilyPopsTest, WhatArrivesForAClientThatHasGoneIsGivenBack) {
  auto answer = SubmitAndServe(1, Request("family", 60'000));
  thread_.Call([&] { families_->Cancel(1); });
  EXPECT_TRUE(answer.get()->deliveries.empty());
  AnswerQueue(OneDelivery(true));
  ASSERT_EQ(engine_.given_back.size(), 1U);
  EXPECT_EQ(engine_.given_back[0].first, "g");
}

TEST_F(FamilyPopsTest, APopThatServesIsAnsweredByItsQueueAndNotByTheClock) {
  PopRequest request = Request("family", 200);
  request.auto_ack = true;
  auto answer = SubmitAndServe(1, std::move(request));
  EXPECT_GT(engine_.asked.within_ms, 0);
  EXPECT_LE(engine_.asked.within_ms, 400);
  // Longer than the wait of the other and its grace.
  EXPECT_TRUE(Submit(2, Request("nobody", 700)).get()->deliveries.empty());
  EXPECT_EQ(answer.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  AnswerQueue(OneDelivery(false));
  EXPECT_EQ(answer.get()->deliveries.size(), 1U);
  EXPECT_TRUE(engine_.given_back.empty());
}

TEST_F(FamilyPopsTest, NoStartIsRecordedForAClientThatHasGone) {
  PopRequest request = Request("family", 60'000);
  request.group = "gone";
  request.start_mode = StartMode::kNew;
  thread_.Call([&] {
    families_->Submit(1, std::move(request), [](const Result<PopResult>&) {});
    families_->Cancel(1);
  });
  // Two that come behind it have read the tail and the list of their family.
  EXPECT_TRUE(Submit(2, Request("nobody", 700)).get()->deliveries.empty());
  EXPECT_TRUE(Submit(3, Request("nobody else", 100)).get()->deliveries.empty());
  EXPECT_EQ(
      pg::testing::Postgres().Ask("SELECT count(*) FROM queen.families WHERE group_name = 'gone'"),
      "0");
}

TEST_F(FamilyPopsTest, ARoundGoesThroughItsQueuesAFewTimesHoweverManyThereAre) {
  constexpr int64_t kQueues = 300;
  pg::testing::Postgres().Ask(
      "SELECT count(*) FROM queen.ensure_partitions("
      "ARRAY(SELECT 'many.' || i FROM generate_series(1, 300) i), "
      "ARRAY(SELECT 'p' FROM generate_series(1, 300)))");
  auto answer = SubmitAndServe(1, Request("many", 60'000));
  AnswerQueue(OneDelivery(true));
  EXPECT_EQ(answer.get()->deliveries.size(), 1U);
  int64_t probed = 0;
  thread_.Call([&] { probed = families_->members_probed(); });
  EXPECT_GE(probed, kQueues);
  EXPECT_LE(probed, 4 * kQueues);
}

}  // namespace
}  // namespace queen::sidecar
