#include "sidecar/tail_reader.h"

#include <cassert>
#include <utility>

namespace queen::sidecar {

pg::Params TailReader::Begin(int64_t now_ms) {
  assert(HasWork());
  if (known() && now_ms - sent_ms_ > kPauseMaxMs) Drop();
  wanted_ = false;
  in_flight_ = true;
  ++begun_;
  sent_generation_ = generation_;
  sent_ms_ = now_ms;
  pg::Params params(4);
  if (known()) {
    params.Text(since_);
  } else {
    params.Null(pg::oid::kText);
  }
  params.Int4(kBatchesMax).Int8(own_.first).Int8(own_.last);
  return params;
}

Result<std::vector<QueueNews>> TailReader::End(const pg::BatchResult& result) {
  in_flight_ = false;
  done_ = begun_;
  if (!result.ok()) return result.status;
  std::vector<QueueNews> news;
  if (sent_generation_ != generation_) return news;  // dropped meanwhile
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    if (rows.IsNull(row, 0)) {
      since_ = rows.Text(row, 2);
      if (rows.Bool(row, 3)) ++generation_;
      continue;
    }
    QueueNews& queue = news.emplace_back();
    queue.queue_id = rows.Int4(row, 0);
    queue.everything = rows.IsNull(row, 1);
    if (queue.everything) {
      if (!rows.IsNull(row, 4)) queue.namespace_name = rows.Text(row, 4);
      if (!rows.IsNull(row, 5)) queue.task = rows.Text(row, 5);
      continue;
    }
    for (const int32_t id : rows.Int4Array(row, 1)) queue.partitions.push_back({id});
  }
  return news;
}

void TailReader::Drop() {
  since_.clear();
  ++generation_;
}

}  // namespace queen::sidecar
