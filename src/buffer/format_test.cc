#include "buffer/format.h"

#include <gtest/gtest.h>

#include "buffer/crc32c.h"

namespace queen::buffer {
namespace {

constexpr uint64_t kSalt = 0x0123456789ABCDEF;

Group MakeGroup(std::string_view partition, std::string_view payload) {
  return {
      "orders", partition, 1'700'000'000'000'000, {{"txn-1", payload, ""}, {"t2", "null", "{}"}}};
}

// A file of three records, and where each begins.
struct Example {
  std::string bytes = EncodeHeader({7, kSalt, 0, 42});
  std::vector<size_t> begins;
  std::vector<std::string> bodies;

  Example() {
    for (const auto* payload : {R"({"a":1})", R"({"b":"\u0000 \ud800"})", R"([1,2,3])"}) {
      bodies.push_back(EncodeBody(MakeGroup("p" + std::to_string(bodies.size()), payload)));
      begins.push_back(bytes.size());
      AppendRecord(kSalt, bytes.size(), bodies.back(), bytes);
    }
  }
};

struct Read {
  std::vector<std::string> bodies;
  size_t damaged_bytes = 0;
  size_t record_bytes = 0;
};

Read ReadAll(std::string_view file) {
  Read read;
  FileHeader header;
  if (DecodeHeader(file, header) != HeaderState::kOk) return read;
  const size_t begin = std::min(file.size(), kHeaderBytes);
  Scanner scanner(header.salt, begin, file.substr(begin));
  for (auto found = scanner.Next(); found.kind != Scanner::Found::Kind::kEnd;
       found = scanner.Next()) {
    if (found.kind == Scanner::Found::Kind::kDamage) {
      read.damaged_bytes += found.body.size();
    } else {
      read.bodies.emplace_back(found.body);
      read.record_bytes += kRecordHeadBytes + found.body.size();
    }
  }
  EXPECT_EQ(read.damaged_bytes + read.record_bytes, file.size() - begin);
  return read;
}

TEST(Crc32c, KnownValues) {
  EXPECT_EQ(Crc32c(0, ""), 0U);
  EXPECT_EQ(Crc32c(0, "123456789"), 0xE3069283U);
  EXPECT_EQ(Crc32c(0, std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(Crc32c(Crc32c(0, "1234"), "56789"), 0xE3069283U);
}

TEST(Format, AGroupComesBackAsItWas) {
  const Group group = MakeGroup("p\xC3\xA9", R"({"n":01})");
  const std::string body = EncodeBody(group);
  Group read;
  ASSERT_TRUE(DecodeBody(body, read));
  EXPECT_EQ(read.queue, group.queue);
  EXPECT_EQ(read.partition, group.partition);
  EXPECT_EQ(read.arrival_micros, group.arrival_micros);
  ASSERT_EQ(read.messages.size(), 2U);
  EXPECT_EQ(read.messages[0].txn, "txn-1");
  EXPECT_EQ(read.messages[0].payload, R"({"n":01})");
  EXPECT_EQ(read.messages[1].meta, "{}");
}

TEST(Format, ABodyThatIsNotExactlyOneGroupIsRefused) {
  const std::string body = EncodeBody(MakeGroup("p", "1"));
  Group read;
  for (size_t size = 0; size < body.size(); ++size) {
    EXPECT_FALSE(DecodeBody(std::string_view(body).substr(0, size), read)) << size;
  }
  EXPECT_FALSE(DecodeBody(body + "x", read));
  Group empty = MakeGroup("p", "1");
  empty.messages.clear();
  EXPECT_FALSE(DecodeBody(EncodeBody(empty), read));
}

TEST(Format, AFileTornAtAnyByteGivesTheRecordsBeforeTheTear) {
  const Example example;
  for (size_t size = 0; size <= example.bytes.size(); ++size) {
    const Read read = ReadAll(std::string_view(example.bytes).substr(0, size));
    size_t whole = 0;
    for (size_t i = 0; i < example.bodies.size(); ++i) {
      if (size >= example.begins[i] + kRecordHeadBytes + example.bodies[i].size()) ++whole;
    }
    EXPECT_EQ(read.bodies,
              std::vector<std::string>(example.bodies.begin(),
                                       example.bodies.begin() + static_cast<ptrdiff_t>(whole)))
        << "torn at " << size;
  }
}

TEST(Format, EveryFlippedByteCostsAtMostTheRecordItIsIn) {
  const Example example;
  for (size_t place = 0; place < example.bytes.size(); ++place) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string bytes = example.bytes;
      bytes[place] = static_cast<char>(bytes[place] ^ flip);
      std::vector<std::string> expected;
      for (size_t i = 0; i < example.bodies.size(); ++i) {
        const size_t end = example.begins[i] + kRecordHeadBytes + example.bodies[i].size();
        if (place < example.begins[i] || place >= end) expected.push_back(example.bodies[i]);
      }
      const Read read = ReadAll(bytes);
      ASSERT_EQ(read.bodies, expected) << "byte " << place << " flipped by " << flip;
      ASSERT_EQ(read.damaged_bytes > 0, place >= kHeaderBytes);
    }
  }
}

TEST(Format, BytesCutOutOfTheMiddleAreNotedAndTheRestIsNotTakenForRecords) {
  // The records behind the gap stand at other offsets than they were written for.
  const Example example;
  std::string bytes = example.bytes;
  bytes.erase(example.begins[1], 1);
  const Read read = ReadAll(bytes);
  EXPECT_EQ(read.bodies, std::vector<std::string>{example.bodies[0]});
  EXPECT_GT(read.damaged_bytes, 0U);
}

TEST(Format, ARecordInsideAPayloadIsNotARecord) {
  Example example;
  std::string forged;
  AppendRecord(0, 0, example.bodies[0], forged);  // its writer does not know the salt
  const std::string body = EncodeBody(MakeGroup("p", forged));
  std::string bytes = example.bytes;
  const size_t begin = bytes.size();
  AppendRecord(kSalt, begin, body, bytes);
  bytes[begin] ^= 1;  // so that the scanner searches inside it
  EXPECT_EQ(ReadAll(bytes).bodies, example.bodies);
}

TEST(Format, AnUnknownVersionIsToldFromDamage) {
  std::string header = EncodeHeader({1, 2, 3, 4});
  FileHeader read;
  ASSERT_EQ(DecodeHeader(header, read), HeaderState::kOk);
  EXPECT_EQ(read.number, 1U);
  EXPECT_EQ(read.salt, 2U);
  EXPECT_EQ(read.previous_end, 3U);
  EXPECT_EQ(read.created_micros, 4);
  for (const size_t copy : {size_t{0}, kHeaderCopyBytes}) {
    header[copy + 8] = 9;
    const uint32_t crc =
        Crc32c(0, std::string_view(header).substr(copy, kHeaderCopyBytes - sizeof crc));
    for (size_t i = 0; i < sizeof crc; ++i) {
      header[copy + kHeaderCopyBytes - sizeof crc + i] = static_cast<char>(crc >> (8 * i));
    }
  }
  EXPECT_EQ(DecodeHeader(header, read), HeaderState::kNewerVersion);
  EXPECT_EQ(DecodeHeader("QUEENBUF", read), HeaderState::kDamaged);
}

}  // namespace
}  // namespace queen::buffer
