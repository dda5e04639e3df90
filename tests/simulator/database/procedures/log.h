// What procedures ask of a partition's log, as the present statement sees it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "simulator/database/catalog.h"

namespace queen::simulator {

struct LogEnd {
  int64_t base_seq = 0;  // of the newest segment
  int32_t count = 0;
  int64_t created_at = 0;
  int64_t seq_end = 0;
  bool blank = false;
};
// nullopt when nothing was ever pushed.
std::optional<LogEnd> EndOfLog(const Transaction& reader, const Catalog& catalog,
                               int32_t partition_id);

// The segment with the highest base_seq that is not above `seq`, or null.
std::pair<const SegmentKey*, const SegmentRow*> SegmentAt(const Transaction& reader,
                                                          const Catalog& catalog,
                                                          int32_t partition_id, int64_t seq);

// queen.first_seq_at
int64_t FirstSeqAt(const Transaction& reader, const Catalog& catalog, int32_t partition_id,
                   int64_t time);

// queen.find_transactions: where transactionIds are stored.
struct FoundTransaction {
  int32_t line = 0;  // from 0
  int64_t seq = 0;
  int64_t created_at = 0;
};
// Offsets [known_from, known_to) are taken as free of them; of ids without a time only with
// `known_untimed`. By line, then by seq.
std::vector<FoundTransaction> FindTransactions(const Transaction& reader, const Catalog& catalog,
                                               int32_t partition_id,
                                               std::optional<std::string_view> txns,
                                               int64_t known_from, int64_t known_to,
                                               bool known_untimed);

// The lines of a text; none when it is null. Like string_to_table(text, E'\n').
std::vector<std::string_view> LinesOf(std::optional<std::string_view> text);
// Like split_part(text, E'\n', line + 1).
std::string_view LineOf(std::string_view text, int64_t line);

inline constexpr int64_t kDedupWindowMicros = 60'000'000;

}  // namespace queen::simulator
