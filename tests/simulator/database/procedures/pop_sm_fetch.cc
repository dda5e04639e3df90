#include "simulator/database/procedures/procedures.h"

namespace queen::simulator {

Task<pg::Rows> FetchSegments(Call& call) {
  const Array<int32_t> partitions = call.arguments.Int4s(1);
  const Array<int64_t> bases = call.arguments.Int8s(2);
  Answer answer({{"ordinal", oid::kInt4},
                 {"count", oid::kInt4},
                 {"created_at", oid::kTimestampTz},
                 {"payloads", oid::kText},
                 {"txns", oid::kText},
                 {"meta", oid::kText}});
  for (size_t i = 0; i < partitions.size(); ++i) {
    const SegmentRow* row =
        call.catalog.segments.Find(call.transaction, {partitions.At(i), bases.At(i)});
    if (row == nullptr || row->texts == nullptr) continue;
    answer.Int4(static_cast<int32_t>(i + 1))
        .Int4(row->count)
        .Time(row->created_at)
        .Text(row->texts->payloads)
        .Text(row->texts->txns)
        .Text(row->texts->meta);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
