#include "loop/loop.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include "loop/end_of_turn.h"
#include "loop/timer.h"

namespace queen {
namespace {

TEST(Loop, RunsPostedTasksInOrderOnTheOwner) {
  Loop loop("test");
  std::vector<int> seen;
  std::thread thread([&] { loop.Run(); });
  for (int i = 0; i < 100; ++i) {
    loop.Post([&, i] {
      loop.AssertOwner();
      seen.push_back(i);
    });
  }
  loop.Stop();
  thread.join();
  ASSERT_EQ(seen.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST(Loop, TasksPostedByTasksRunBeforeStopTakesEffect) {
  Loop loop("test");
  bool inner = false;
  loop.Post([&] {
    loop.Post([&] { inner = true; });
    loop.Stop();
  });
  loop.Run();
  EXPECT_TRUE(inner);
}

TEST(Loop, PostAfterRunDestroysTheTask) {
  Loop loop("test");
  loop.Stop();
  loop.Run();
  auto token = std::make_shared<int>(1);
  loop.Post([token] { FAIL(); });
  EXPECT_EQ(token.use_count(), 1);
}

TEST(Loop, NeverRunIsFine) { Loop loop("test"); }

TEST(Timer, FiresAndRepeats) {
  Loop loop("test");
  int fired = 0;
  std::optional<Timer> timer;
  loop.Post([&] {
    timer.emplace(loop, [&] {
      if (++fired == 3) {
        timer.reset();
        loop.Stop();
      }
    });
    timer->Start(1, 1);
  });
  loop.Run();
  EXPECT_EQ(fired, 3);
}

TEST(Timer, StoppedTimerDoesNotFire) {
  Loop loop("test");
  std::optional<Timer> stopped;
  std::optional<Timer> end;
  loop.Post([&] {
    stopped.emplace(loop, [] { FAIL(); });
    stopped->Start(0);
    EXPECT_TRUE(stopped->IsActive());
    stopped->Stop();
    end.emplace(loop, [&] {
      stopped.reset();
      end.reset();
      loop.Stop();
    });
    end->Start(5);
  });
  loop.Run();
}

TEST(EndOfTurn, RunsOncePerTurnHoweverOftenAsked) {
  Loop loop("test");
  int runs = 0;
  std::optional<EndOfTurn> end;
  loop.Post([&] {
    end.emplace(loop, [&] {
      if (++runs == 1) {
        end->Request();  // from inside: one more turn
        return;
      }
      end.reset();
      loop.Stop();
    });
    end->Request();
    end->Request();
    EXPECT_EQ(runs, 0);
  });
  loop.Run();
  EXPECT_EQ(runs, 2);
}

TEST(EndOfTurn, DestroyedBeforeItsTurnDoesNotRun) {
  Loop loop("test");
  loop.Post([&] {
    EndOfTurn end(loop, [] { FAIL(); });
    end.Request();
    loop.Stop();
  });
  loop.Run();
}

}  // namespace
}  // namespace queen
