#include "sidecar/answers.h"

#include <gtest/gtest.h>

#include <optional>

namespace queen::sidecar {
namespace {

Status Away() { return Status(Code::kDatabaseUnavailable); }

PushOutcome Queued(int64_t seq) {
  return {PushOutcome::Status::kQueued, MessageId{1, PartitionId{1}, seq}, {}};
}

PushOutcome Refused() { return {PushOutcome::Status::kFailed, {}, "Queue is full"}; }

AckOutcome Acked() {
  AckOutcome outcome;
  outcome.success = true;
  return outcome;
}

// A call of `items` items in `parts` parts, and what it is answered.
template <typename Request, typename Outcome>
struct Call {
  Call(size_t items, size_t parts) {
    gathered.outcomes.resize(items);
    gathered.parts_open = parts;
    gathered.request.done = [this](Request&, Result<std::vector<Outcome>> result) {
      EXPECT_FALSE(answer) << "answered twice";
      answer = std::move(result);
    };
  }

  Gathered<Request, Outcome> gathered;
  std::optional<Result<std::vector<Outcome>>> answer;
};

using PushCallOf = Call<PushRequest, PushOutcome>;
using AckCallOf = Call<AckRequest, AckOutcome>;

TEST(Gathered, PutsThePartsInTheirPlacesWhenTheLastIsThere) {
  PushCallOf call(3, 2);
  call.gathered.TakePart({1}, std::vector<PushOutcome>{Queued(7)});
  EXPECT_FALSE(call.answer);
  call.gathered.TakePart({0, 2}, std::vector<PushOutcome>{Queued(5), Refused()});
  ASSERT_TRUE(call.answer && call.answer->ok());
  EXPECT_EQ((**call.answer)[0].id.seq, 5);
  EXPECT_EQ((**call.answer)[1].id.seq, 7);
  EXPECT_EQ((**call.answer)[2].error, "Queue is full");
}

TEST(Gathered, APushThatIsStoredInPartSaysWhichItemsAreNot) {
  PushCallOf call(3, 2);
  call.gathered.TakePart({0, 2}, Away());
  call.gathered.TakePart({1}, std::vector<PushOutcome>{Queued(7)});
  ASSERT_TRUE(call.answer && call.answer->ok());
  for (const size_t item : {0U, 2U}) {
    EXPECT_EQ((**call.answer)[item].status, PushOutcome::Status::kFailed);
    EXPECT_EQ((**call.answer)[item].error, Away().message());
  }
  EXPECT_EQ((**call.answer)[1].status, PushOutcome::Status::kQueued);
}

TEST(Gathered, APushOfWhichNothingIsStoredFailsAsAWhole) {
  PushCallOf all(2, 2);
  all.gathered.TakePart({0}, Away());
  all.gathered.TakePart({1}, Status(Code::kOverloaded));
  ASSERT_TRUE(all.answer);
  EXPECT_EQ(all.answer->status().code(), Code::kOverloaded);

  PushCallOf some(2, 2);
  some.gathered.TakePart({0}, Away());
  some.gathered.TakePart({1}, std::vector<PushOutcome>{Refused()});
  ASSERT_TRUE(some.answer);
  EXPECT_EQ(some.answer->status().code(), Code::kDatabaseUnavailable);
}

TEST(Gathered, RefusedItemsAloneAreNoTrouble) {
  PushCallOf call(2, 2);
  call.gathered.TakePart({0}, std::vector<PushOutcome>{Refused()});
  call.gathered.TakePart({1}, std::vector<PushOutcome>{Refused()});
  ASSERT_TRUE(call.answer && call.answer->ok());
}

TEST(Gathered, AcksThatMetTroubleFailAsAWhole) {
  AckCallOf call(3, 3);
  call.gathered.TakePart({2}, Status(Code::kOutcomeUnknown));
  call.gathered.TakePart({0}, std::vector<AckOutcome>{Acked()});
  AckOutcome refused;
  refused.error = "Invalid or expired lease";
  call.gathered.TakePart({1}, std::vector<AckOutcome>{refused});
  ASSERT_TRUE(call.answer);
  EXPECT_EQ(call.answer->status().code(), Code::kOutcomeUnknown);
}

TEST(Gathered, RefusedAcksAreAnsweredOneByOne) {
  AckCallOf call(2, 2);
  AckOutcome refused;
  refused.error = "Invalid or expired lease";
  call.gathered.TakePart({0}, std::vector<AckOutcome>{Acked()});
  call.gathered.TakePart({1}, std::vector<AckOutcome>{refused});
  ASSERT_TRUE(call.answer && call.answer->ok());
  EXPECT_TRUE((**call.answer)[0].success);
  EXPECT_EQ((**call.answer)[1].error, refused.error);
}

}  // namespace
}  // namespace queen::sidecar
