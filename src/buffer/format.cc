#include "buffer/format.h"

#include <cassert>
#include <concepts>

#include "buffer/crc32c.h"

namespace queen::buffer {
namespace {

constexpr std::string_view kMagic = "QUEENBUF";
constexpr std::string_view kMarker = "\xFF\xFE\xF8\xFB";

template <std::unsigned_integral Number>
void Put(std::string& out, Number number) {
  for (size_t i = 0; i < sizeof number; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}

void PutText(std::string& out, std::string_view text) {
  assert(text.size() <= kBodyBytesMax);
  Put(out, static_cast<uint32_t>(text.size()));
  out += text;
}

// Takes values from the front of a text; once something is missing nothing more is given.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : left_(bytes) {}

  template <std::unsigned_integral Number>
  Number Take() {
    Number number = 0;
    if (!Need(sizeof number)) return 0;
    for (size_t i = 0; i < sizeof number; ++i) {
      number = static_cast<Number>(number | static_cast<Number>(static_cast<uint8_t>(left_[i]))
                                                << (8 * i));
    }
    left_.remove_prefix(sizeof number);
    return number;
  }

  std::string_view TakeText() {
    const auto size = Take<uint32_t>();
    if (!Need(size)) return {};
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && left_.empty(); }
  size_t left() const { return left_.size(); }

 private:
  bool Need(size_t size) {
    ok_ = ok_ && left_.size() >= size;
    return ok_;
  }

  std::string_view left_;
  bool ok_ = true;
};

uint32_t RecordCrc(uint64_t salt, uint64_t offset, std::string_view body) {
  std::string place;
  Put(place, salt);
  Put(place, offset);
  Put(place, static_cast<uint32_t>(body.size()));
  return Crc32c(Crc32c(0, place), body);
}

HeaderState DecodeCopy(std::string_view bytes, FileHeader& header) {
  const size_t covered = kHeaderCopyBytes - sizeof(uint32_t);
  if (bytes.size() < kHeaderCopyBytes || !bytes.starts_with(kMagic)) return HeaderState::kDamaged;
  Taker taker(bytes.substr(kMagic.size(), kHeaderCopyBytes - kMagic.size()));
  const auto version = taker.Take<uint32_t>();
  taker.Take<uint32_t>();
  FileHeader read;
  read.number = taker.Take<uint64_t>();
  read.salt = taker.Take<uint64_t>();
  read.previous_end = taker.Take<uint64_t>();
  read.created_micros = static_cast<int64_t>(taker.Take<uint64_t>());
  if (taker.Take<uint32_t>() != Crc32c(0, bytes.substr(0, covered))) return HeaderState::kDamaged;
  if (version != kFormatVersion) return HeaderState::kNewerVersion;
  header = read;
  return HeaderState::kOk;
}

}  // namespace

std::string EncodeHeader(const FileHeader& header) {
  std::string copy(kMagic);
  Put(copy, kFormatVersion);
  Put(copy, uint32_t{0});
  Put(copy, header.number);
  Put(copy, header.salt);
  Put(copy, header.previous_end);
  Put(copy, static_cast<uint64_t>(header.created_micros));
  Put(copy, Crc32c(0, copy));
  assert(copy.size() == kHeaderCopyBytes);
  return copy + copy;
}

HeaderState DecodeHeader(std::string_view bytes, FileHeader& header) {
  const HeaderState first = DecodeCopy(bytes, header);
  if (first != HeaderState::kDamaged || bytes.size() < kHeaderBytes) return first;
  return DecodeCopy(bytes.substr(kHeaderCopyBytes), header);
}

std::string EncodeBody(const Group& group) {
  size_t size = 20 + group.queue.size() + group.partition.size();
  for (const Message& message : group.messages) {
    size += 12 + message.txn.size() + message.payload.size() + message.meta.size();
  }
  std::string body;
  body.reserve(size);
  Put(body, static_cast<uint64_t>(group.arrival_micros));
  PutText(body, group.queue);
  PutText(body, group.partition);
  Put(body, static_cast<uint32_t>(group.messages.size()));
  for (const Message& message : group.messages) {
    PutText(body, message.txn);
    PutText(body, message.payload);
    PutText(body, message.meta);
  }
  return body;
}

bool DecodeBody(std::string_view body, Group& group) {
  Taker taker(body);
  group.arrival_micros = static_cast<int64_t>(taker.Take<uint64_t>());
  group.queue = taker.TakeText();
  group.partition = taker.TakeText();
  const auto count = taker.Take<uint32_t>();
  group.messages.clear();
  if (!taker.ok() || count == 0 || count > taker.left() / 12) return false;
  group.messages.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    Message& message = group.messages.emplace_back();
    message.txn = taker.TakeText();
    message.payload = taker.TakeText();
    message.meta = taker.TakeText();
  }
  return taker.at_end();
}

void AppendRecord(uint64_t salt, uint64_t offset, std::string_view body, std::string& out) {
  assert(body.size() <= kBodyBytesMax);
  out += kMarker;
  Put(out, static_cast<uint32_t>(body.size()));
  Put(out, RecordCrc(salt, offset, body));
  out += body;
}

size_t Scanner::RecordAt(size_t place) const {
  const std::string_view bytes = bytes_.substr(place);
  if (bytes.size() < kRecordHeadBytes || !bytes.starts_with(kMarker)) return 0;
  Taker taker(bytes.substr(kMarker.size(), kRecordHeadBytes - kMarker.size()));
  const auto length = taker.Take<uint32_t>();
  const auto crc = taker.Take<uint32_t>();
  if (length > bytes.size() - kRecordHeadBytes) return 0;
  const std::string_view body = bytes.substr(kRecordHeadBytes, length);
  return RecordCrc(salt_, offset_ + place, body) == crc ? kRecordHeadBytes + length : 0;
}

Scanner::Found Scanner::Next() {
  if (bytes_.empty()) return {Found::Kind::kEnd, offset_, {}};
  Found found{Found::Kind::kRecord, offset_, {}};
  size_t taken = RecordAt(0);
  if (taken > 0) {
    found.body = bytes_.substr(kRecordHeadBytes, taken - kRecordHeadBytes);
  } else {
    found.kind = Found::Kind::kDamage;
    taken = bytes_.find(kMarker, 1);
    while (taken != std::string_view::npos && RecordAt(taken) == 0) {
      taken = bytes_.find(kMarker, taken + 1);
    }
    if (taken == std::string_view::npos) taken = bytes_.size();
    found.body = bytes_.substr(0, taken);
  }
  bytes_.remove_prefix(taken);
  offset_ += taken;
  return found;
}

}  // namespace queen::buffer
