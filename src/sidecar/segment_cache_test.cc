#include "sidecar/segment_cache.h"

#include <gtest/gtest.h>

namespace queen::sidecar {
namespace {

storage::SegmentPtr Make(int partition, int64_t base_seq, size_t bytes) {
  auto segment = std::make_shared<storage::Segment>();
  segment->partition = {partition};
  segment->base_seq = base_seq;
  segment->count = 2;
  segment->created_micros = 1000 + base_seq;
  segment->payloads.assign(bytes, 'x');
  return segment;
}

TEST(SegmentCache, AHitNeedsTheWholeKey) {
  SegmentCache cache(10'000);
  cache.Put(Make(1, 10, 100));
  EXPECT_NE(cache.Find({1}, 10, 2, 1010), nullptr);
  EXPECT_EQ(cache.Find({2}, 10, 2, 1010), nullptr);
  EXPECT_EQ(cache.Find({1}, 11, 2, 1010), nullptr);
  EXPECT_EQ(cache.Find({1}, 10, 3, 1010), nullptr);
  EXPECT_EQ(cache.Find({1}, 10, 2, 1011), nullptr);
  EXPECT_EQ(cache.hits(), 1);
  EXPECT_EQ(cache.misses(), 4);
}

TEST(SegmentCache, StaysWithinItsBytesAndKeepsTheRecent) {
  SegmentCache cache(size_t{3} * (1000 + 256));
  for (int64_t base = 0; base < 3; ++base) cache.Put(Make(1, base, 1000));
  EXPECT_NE(cache.Find({1}, 0, 2, 1000), nullptr);  // now the most recent
  cache.Put(Make(1, 3, 1000));
  EXPECT_EQ(cache.Find({1}, 1, 2, 1001), nullptr);  // the least recent left
  EXPECT_NE(cache.Find({1}, 0, 2, 1000), nullptr);
  EXPECT_LE(cache.bytes(), size_t{3} * (1000 + 256));
}

TEST(SegmentCache, WhatCannotFitIsNotKept) {
  SegmentCache cache(500);
  cache.Put(Make(1, 0, 1000));
  EXPECT_EQ(cache.bytes(), 0U);
  cache.Put(Make(1, 0, 10));
  cache.Put(Make(1, 0, 10));  // the same key again counts once
  EXPECT_EQ(cache.bytes(), size_t{10 + 256});
  cache.Clear();
  EXPECT_EQ(cache.bytes(), 0U);
  EXPECT_EQ(cache.Find({1}, 0, 2, 1000), nullptr);
}

}  // namespace
}  // namespace queen::sidecar
