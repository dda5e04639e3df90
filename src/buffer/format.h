// The format of a buffer file, version 1. Pure: no file is touched here.
//
//   file    header, the same header again, then records up to the end
//   header  "QUEENBUF", version u32, 0 u32, number u64, salt u64, previous_end u64, created i64,
//           crc u32                                                              (52 bytes)
//   record  marker u32, length u32, crc u32, body of `length` bytes
//   body    arrival i64, queue, partition, count u32, then per message: transactionId, payload,
//           meta; a text is its length u32 and its bytes
//
// Numbers are little-endian. A record is what one call pushed to one partition, which becomes
// visible together, so it is whole or not there. Its crc covers the file's salt, the record's
// offset, its length and its body: neither a record that stands elsewhere nor one that a client has
// written into a payload is ever taken for one of ours. The marker is no valid UTF-8, so it is not
// found in texts.
//
// previous_end is how much of the file with the number before this one was durable when this one
// was begun: what stands behind it there was answered 503 and is not replayed.
//
// A Scanner gives every intact record of a file, and the ranges between them that are damaged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace queen::buffer {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kHeaderCopyBytes = 52;
inline constexpr size_t kHeaderBytes = 2 * kHeaderCopyBytes;
inline constexpr size_t kRecordHeadBytes = 12;
inline constexpr size_t kBodyBytesMax = size_t{1} << 30;

struct FileHeader {
  uint64_t number = 0;
  uint64_t salt = 0;          // random
  uint64_t previous_end = 0;  // 0: nothing is known of the file before
  int64_t created_micros = 0;
};

// One message. Views into what was parsed, or into what is written.
struct Message {
  std::string_view txn;
  std::string_view payload;
  std::string_view meta;
};

// What one call pushed to one partition.
struct Group {
  std::string_view queue;
  std::string_view partition;
  int64_t arrival_micros = 0;
  std::vector<Message> messages;
};

// Both copies.
std::string EncodeHeader(const FileHeader& header);

enum class HeaderState { kOk, kNewerVersion, kDamaged };
// Reads the first copy that is intact.
HeaderState DecodeHeader(std::string_view bytes, FileHeader& header);

std::string EncodeBody(const Group& group);
// False unless `body` is exactly one group with at least one message.
bool DecodeBody(std::string_view body, Group& group);

// Appends the record that stands at `offset` of its file. REQUIRES: body.size() <= kBodyBytesMax
void AppendRecord(uint64_t salt, uint64_t offset, std::string_view body, std::string& out);

class Scanner {
 public:
  struct Found {
    enum class Kind { kRecord, kDamage, kEnd };
    Kind kind = Kind::kEnd;
    uint64_t offset = 0;    // in the file
    std::string_view body;  // of the record; the bytes as they are when damaged
  };

  // `bytes` stand at `offset` of the file with this salt, where a record begins.
  Scanner(uint64_t salt, uint64_t offset, std::string_view bytes)
      : salt_(salt), offset_(offset), bytes_(bytes) {}

  Found Next();

 private:
  // The whole size of the intact record at `place` of bytes_, or 0.
  size_t RecordAt(size_t place) const;

  const uint64_t salt_;
  uint64_t offset_;
  std::string_view bytes_;  // what is left
};

}  // namespace queen::buffer
