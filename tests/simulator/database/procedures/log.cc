#include "simulator/database/procedures/log.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/ids.h"
#include "storage/txn_time.h"

namespace queen::simulator {

std::optional<LogEnd> EndOfLog(const Transaction& reader, const Catalog& catalog,
                               int32_t partition_id) {
  const auto [key, row] = SegmentAt(reader, catalog, partition_id, kSeqEnd - 1);
  if (row == nullptr) return std::nullopt;
  return LogEnd{key->base_seq, row->count, row->created_at, key->base_seq + row->count,
                row->texts == nullptr};
}

std::pair<const SegmentKey*, const SegmentRow*> SegmentAt(const Transaction& reader,
                                                          const Catalog& catalog,
                                                          int32_t partition_id, int64_t seq) {
  return catalog.segments.Last(reader, {partition_id, 0}, {partition_id, seq + 1});
}

// created_at rises with base_seq, so the last segment that begins at or before the time decides. A
// walk from the end finds it: what is asked for is usually young.
int64_t FirstSeqAt(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                   int64_t time) {
  int64_t first = 0;
  catalog.segments.WalkDown(reader, {partition_id, 0}, {partition_id, kSeqEnd},
                            [&](const SegmentKey& key, const SegmentRow& row) {
                              first = key.base_seq;
                              if (row.created_at <= time)
                                first += std::min<int64_t>(row.count, time - row.created_at);
                              return row.created_at > time;
                            });
  return first;
}

std::vector<std::string_view> LinesOf(std::optional<std::string_view> text) {
  std::vector<std::string_view> lines;
  if (!text) return lines;
  for (std::string_view rest = *text;;) {
    const size_t end = rest.find('\n');
    lines.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) return lines;
    rest.remove_prefix(end + 1);
  }
}

std::string_view LineOf(std::string_view text, int64_t line) {
  for (; line > 0; --line) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

namespace {

// A transactionId that is the id of a message without one.
std::optional<int64_t> OwnIdOf(const Transaction& reader, const Catalog& catalog,
                               int32_t partition_id, std::string_view txn) {
  const auto uuid = Uuid::Parse(txn);
  const auto id = uuid ? DecodeMessageId(*uuid) : std::nullopt;
  if (!id || id->partition.value != partition_id || uuid->ToString() != txn) return std::nullopt;
  const auto [key, row] = SegmentAt(reader, catalog, partition_id, id->seq);
  if (row == nullptr || id->seq >= key->base_seq + row->count || row->texts == nullptr) {
    return std::nullopt;
  }
  const int64_t created_at = row->created_at + (id->seq - key->base_seq);
  if (created_at / 1000 != id->created_millis) return std::nullopt;
  if (row->texts->txns && !LineOf(*row->texts->txns, id->seq - key->base_seq).empty()) {
    return std::nullopt;
  }
  return id->seq;
}

}  // namespace

std::vector<FoundTransaction> FindTransactions(const Transaction& reader, const Catalog& catalog,
                                               int32_t partition_id,
                                               std::optional<std::string_view> txns,
                                               int64_t known_from, int64_t known_to,
                                               bool known_untimed) {
  struct Asked {
    int32_t line;
    std::optional<int64_t> time;
  };
  std::unordered_multimap<std::string_view, Asked> asked;
  std::set<std::pair<int32_t, int64_t>> found;  // line, seq
  bool any_untimed = false;
  int64_t time_min = kSeqEnd;
  int64_t time_max = 0;
  int32_t line = 0;
  for (const std::string_view txn : LinesOf(txns)) {
    if (!txn.empty()) {
      const auto time = storage::TimeInside(txn);
      asked.emplace(txn, Asked{line, time});
      any_untimed |= !time;
      time_min = std::min(time_min, time.value_or(time_min));
      time_max = std::max(time_max, time.value_or(time_max));
      const DedupRow* keyed = catalog.dedup.Find(reader, {partition_id, std::string(txn)});
      if (keyed != nullptr) found.emplace(line, keyed->seq);
      const auto own = OwnIdOf(reader, catalog, partition_id, txn);
      if (own) found.emplace(line, *own);
    }
    ++line;
  }
  if (asked.empty()) return {};
  catalog.segments.Walk(
      reader, {partition_id, 0}, {partition_id, kSeqEnd},
      [&](const SegmentKey& key, const SegmentRow& row) {
        if (row.texts == nullptr || !row.texts->txns) return true;
        const bool known = key.base_seq >= known_from && key.base_seq < known_to;
        const bool may_be_timed = !known && row.time_min <= time_max && row.time_max >= time_min;
        const bool may_be_untimed =
            any_untimed && row.untimed.value_or(false) && !(known && known_untimed);
        if (!may_be_timed && !may_be_untimed) return true;
        int64_t seq = key.base_seq;
        for (const std::string_view txn : LinesOf(*row.texts->txns)) {
          const auto [first, last] = asked.equal_range(txn);
          for (auto at = first; at != last; ++at) {
            const Asked& ask = at->second;
            if (ask.time ? may_be_timed && row.created_at >= *ask.time - kDedupWindowMicros &&
                               row.created_at <= *ask.time + kDedupWindowMicros
                         : may_be_untimed) {
              found.emplace(ask.line, seq);
            }
          }
          ++seq;
        }
        return true;
      });
  std::vector<FoundTransaction> transactions;
  for (const auto& [at_line, seq] : found) {
    const auto [key, row] = SegmentAt(reader, catalog, partition_id, seq);
    if (row == nullptr || seq >= key->base_seq + row->count) continue;
    transactions.push_back({at_line, seq, row->created_at + (seq - key->base_seq)});
  }
  return transactions;
}

}  // namespace queen::simulator
