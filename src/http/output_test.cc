#include "http/output.h"

#include <gtest/gtest.h>

#include <array>

namespace queen::http {
namespace {

// Everything that waits, as it would be written.
std::string Waiting(const Output& output) {
  std::array<uv_buf_t, 64> buffers;
  std::string all;
  const size_t count = output.Describe(buffers.data(), buffers.size());
  for (size_t i = 0; i < count; ++i) all.append(buffers[i].base, buffers[i].len);
  return all;
}

TEST(Output, SmallRepliesShareABuffer) {
  BufferPool pool;
  Output output;
  EXPECT_TRUE(output.empty());
  output.Tail(pool).append("head1");
  output.Append("body1", pool);
  output.Tail(pool).append("head2");
  EXPECT_EQ(output.buffer_count(), 1U);
  EXPECT_EQ(output.size(), 15U);
  EXPECT_EQ(Waiting(output), "head1body1head2");
}

TEST(Output, LargeBodiesAreNotCopied) {
  BufferPool pool;
  Output output;
  std::string body(100'000, 'x');
  const char* bytes = body.data();
  output.Tail(pool).append("head");
  output.Append(std::move(body), pool);
  output.Tail(pool).append("next");
  ASSERT_EQ(output.buffer_count(), 3U);
  std::array<uv_buf_t, 3> buffers;
  EXPECT_EQ(output.Describe(buffers.data(), buffers.size()), 3U);
  EXPECT_EQ(buffers[1].base, bytes);
  EXPECT_EQ(output.size(), 100'008U);
}

TEST(Output, AnyPartMayBeWrittenFirst) {
  const std::string body(20'000, 'b');
  const std::string all = "first" + body + "second" + body + "third";
  for (const size_t step : {1U, 7U, 4096U, 20'000U, 20'005U, 50'000U}) {
    BufferPool pool;
    Output output;
    output.Tail(pool).append("first");
    output.Append(body, pool);
    output.Tail(pool).append("second");
    output.Append(body, pool);
    output.Tail(pool).append("third");
    size_t written = 0;
    while (!output.empty()) {
      ASSERT_EQ(output.size(), all.size() - written);
      if (step > 1) {
        ASSERT_EQ(Waiting(output), all.substr(written)) << step;
      }
      const size_t size = std::min<size_t>(step, output.size());
      output.Consume(size, pool);
      written += size;
    }
    EXPECT_EQ(written, all.size());
    EXPECT_EQ(output.buffer_count(), 0U);
  }
}

TEST(Output, WrittenBuffersAreUsedAgain) {
  BufferPool pool;
  Output output;
  output.Tail(pool).append(1000, 'x');
  const char* memory = output.Tail(pool).data();
  output.Consume(1000, pool);
  Output other;
  other.Tail(pool).append("y");
  EXPECT_EQ(other.Tail(pool).data(), memory);
  EXPECT_EQ(Waiting(other), "y");
}

}  // namespace
}  // namespace queen::http
