#include "state/id_set.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace queen::state {
namespace {

TEST(IdSet, DoesWhatASetDoes) {
  std::mt19937 random(7);
  IdSet ids;
  std::set<int32_t> model;
  for (int step = 0; step < 20'000; ++step) {
    // Near, far, and at the ends of pages.
    const int32_t id = static_cast<int32_t>(random() % 3) * 1'000'000 +
                       static_cast<int32_t>(random() % 4) * 511 +
                       static_cast<int32_t>(random() % 3);
    if (random() % 2 == 0) {
      EXPECT_EQ(ids.Insert(id), model.insert(id).second);
    } else {
      EXPECT_EQ(ids.Erase(id), model.erase(id) > 0);
    }
    EXPECT_EQ(ids.Contains(id), model.contains(id));
    EXPECT_EQ(ids.size(), model.size());
  }
  EXPECT_TRUE(ids.Insert(INT32_MAX));
  EXPECT_TRUE(ids.Contains(INT32_MAX));
  ids.Clear();
  EXPECT_TRUE(ids.empty());
  EXPECT_FALSE(ids.Contains(INT32_MAX));
}

}  // namespace
}  // namespace queen::state
