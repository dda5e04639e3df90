#include "sidecar/push_batch.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "base/keyed_hash.h"
#include "storage/txn_time.h"

namespace queen::sidecar {
namespace {

// Collects the lines of one segment.
class SegmentBuilder {
 public:
  explicit SegmentBuilder(bool encrypted) : encrypted_(encrypted) {}

  bool Fits(const PushItem& item) const {
    return payloads_.count() == 0 || payloads_.text().size() + item.payload.size() +
                                             item.txn.size() + item.meta.size() +
                                             txns_.text().size() + metas_.text().size() <
                                         kSegmentBytesMax;
  }

  void Add(const PushItem& item) {
    payloads_.AddJson(item.payload);
    // The API refuses control characters in a transactionId, and writes meta as one line.
    [[maybe_unused]] const bool one_line = txns_.Add(item.txn) && metas_.Add(item.meta);
    assert(one_line);
    if (!item.txn.empty()) NoteTxn(item.txn);
  }

  size_t count() const { return payloads_.count(); }

  PushSegment Take(PartitionId partition, size_t first_line) {
    auto segment = std::make_shared<storage::Segment>();
    segment->partition = partition;
    segment->count = static_cast<int32_t>(payloads_.count());
    segment->payloads = payloads_.text();
    segment->txns = txns_.nullable_text().value_or("");
    segment->meta = metas_.nullable_text().value_or("");
    PushSegment made = std::move(made_);
    made.first_line = first_line;
    made.encrypted = encrypted_;
    made.segment = std::move(segment);
    made_ = {};
    payloads_.Clear();
    txns_.Clear();
    metas_.Clear();
    return made;
  }

 private:
  void NoteTxn(std::string_view txn) {
    if (made_.txn_min.data() == nullptr || txn < made_.txn_min) made_.txn_min = txn;
    if (txn > made_.txn_max) made_.txn_max = txn;
    const auto time = storage::TimeInside(txn);
    if (!time) {
      made_.untimed_hashes.push_back(KeyedHash(txn));
      return;
    }
    made_.timed_txns.push_back(txn);
    made_.time_min = std::min(made_.time_min.value_or(*time), *time);
    made_.time_max = std::max(made_.time_max.value_or(*time), *time);
  }

  const bool encrypted_;
  storage::LineColumn payloads_;
  storage::LineColumn txns_;
  storage::LineColumn metas_;
  PushSegment made_;
};

// Comes out of the file buffer, where it was encrypted.
bool IsSealed(const PushItem& item) { return storage::IsEncryptedMeta(item.meta); }

// An item in the form it is to be stored in; holds one at a time.
class Resealed {
 public:
  // REQUIRES: what is sealed can be decrypted (PushQueue::Submit has tried)
  const PushItem& Make(const PushItem& item, PartitionId partition,
                       const storage::PayloadCipher& cipher, bool encrypt) {
    item_ = item;
    if (IsSealed(item)) {
      plain_ = *cipher.DecryptBuffered(item.payload, item.queue, item.partition);
      item_.payload = plain_;
      item_.meta = storage::PlainMeta(item.meta);
    }
    if (encrypt) {
      encrypted_ = cipher.Encrypt(item_.payload, partition);
      item_.payload = encrypted_;
      item_.meta = storage::EncryptedMeta(item_.meta);
    }
    return item_;
  }

 private:
  PushItem item_;
  std::string plain_;
  std::string encrypted_;
};

void AddTextOrNull(pg::TextArray& array, std::string_view text) {
  if (text.empty()) {
    array.AddNull();
  } else {
    array.Add(text);
  }
}

void AddTimeOrNull(pg::TimestampTzArray& array, std::optional<int64_t> micros) {
  if (micros) {
    array.Add(*micros);
  } else {
    array.AddNull();
  }
}

}  // namespace

void PushWork::Lay(PartitionId partition, const storage::PayloadCipher& cipher, bool encrypt) {
  std::unordered_map<std::string_view, size_t> seen;  // transactionId -> its line
  SegmentBuilder builder(encrypt);
  Resealed resealed;
  size_t first_line = 0;
  for (const PushGroup& group : groups) {
    for (const uint32_t item : group.items) {
      if (group.call->decided[item]) continue;
      const PushLine line{group.call.get(), item};
      const PushItem& content = line.get();
      if (!content.txn.empty()) {
        const auto [twin, is_first] = seen.emplace(content.txn, lines.size());
        if (!is_first) {
          twins.emplace_back(line, twin->second);
          continue;
        }
      }
      const bool as_it_came = !encrypt && !IsSealed(content);
      const PushItem& stored =
          as_it_came ? content : resealed.Make(content, partition, cipher, encrypt);
      if (!builder.Fits(stored)) {
        segments.push_back(builder.Take(partition, first_line));
        first_line = lines.size();
      }
      builder.Add(stored);
      lines.push_back(line);
    }
  }
  if (builder.count() > 0) segments.push_back(builder.Take(partition, first_line));
}

MessageId PushWork::IdOfLine(size_t line) const {
  const auto behind = std::upper_bound(
      segments.begin(), segments.end(), line,
      [](size_t place, const PushSegment& segment) { return place < segment.first_line; });
  assert(behind != segments.begin());
  const PushSegment& push = *std::prev(behind);
  const int64_t seq = push.segment->base_seq + static_cast<int64_t>(line - push.first_line);
  return {push.segment->CreatedMicros(seq) / 1000, push.segment->partition, seq};
}

PushParams::PushParams(size_t segments)
    : partitions_(segments, 4),
      counts_(segments, 4),
      payloads_(segments),
      txns_(segments),
      metas_(segments),
      txn_mins_(segments),
      txn_maxs_(segments),
      time_mins_(segments, 8),
      time_maxs_(segments, 8),
      untimed_(segments, 1),
      known_froms_(segments, 8),
      known_tos_(segments, 8),
      encrypted_(segments, 1) {}

void PushParams::Add(PartitionId partition, const PushSegment& push, int64_t known_from,
                     int64_t known_to) {
  ++count_;
  const storage::Segment& segment = *push.segment;
  partitions_.Add(partition.value);
  counts_.Add(segment.count);
  payloads_.Add(segment.payloads);
  AddTextOrNull(txns_, segment.txns);
  AddTextOrNull(metas_, segment.meta);
  AddTextOrNull(txn_mins_, push.txn_min);
  AddTextOrNull(txn_maxs_, push.txn_max);
  AddTimeOrNull(time_mins_, push.time_min);
  AddTimeOrNull(time_maxs_, push.time_max);
  untimed_.Add(!push.untimed_hashes.empty());
  known_froms_.Add(known_from);
  known_tos_.Add(known_to);
  encrypted_.Add(push.encrypted);
}

void PushParams::TakeSegments(pg::Params& params) {
  params.Add(std::move(partitions_)).Add(std::move(counts_)).Add(std::move(payloads_));
  params.Add(std::move(txns_)).Add(std::move(metas_));
  params.Add(std::move(txn_mins_)).Add(std::move(txn_maxs_));
  params.Add(std::move(time_mins_)).Add(std::move(time_maxs_)).Add(std::move(untimed_));
}

pg::Params PushParams::Take(int64_t broker, int64_t n, size_t more) && {
  pg::Params params(17 + more);
  params.Int8(broker).Int8(n).Bool(false);
  TakeSegments(params);
  params.Add(std::move(known_froms_)).Add(std::move(known_tos_)).Add(std::move(encrypted_));
  params.Bool(true);  // what is known holds for every kind of id
  return params;
}

}  // namespace queen::sidecar
