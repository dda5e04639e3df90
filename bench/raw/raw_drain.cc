// Lease, fetch and ack called directly, `segments_per_call` partitions at a time, until nothing is
// left: three round trips where the broker, with its cache, often needs two.
#include <fmt/format.h>

#include <atomic>

#include "raw/raw_connection.h"
#include "raw/raw_work.h"
#include "storage/procedures.h"

namespace queen::bench {
namespace {

constexpr const char* kGroup = "raw";

int32_t MakeGroup(const RawShape& shape, const std::string& queue) {
  RawConnection connection(shape.database);
  pg::TextArray queues;
  pg::TextArray groups;
  pg::TextArray modes;
  pg::TimestampTzArray times;
  queues.Add(queue);
  groups.Add(kGroup);
  modes.Add("all");
  times.AddNull();
  pg::Params params(4);
  params.Add(std::move(queues)).Add(std::move(groups)).Add(std::move(modes));
  params.Add(std::move(times));
  return connection.Execute(storage::kEnsureGroups, params).Int4(0, 2);
}

struct Leased {
  int32_t partition;
  int64_t cursor;
  int64_t end;
};

class Drainer {
 public:
  Drainer(const RawShape& shape, int32_t group, std::vector<int32_t> partitions)
      : shape_(shape), group_(group), partitions_(std::move(partitions)), db_(shape.database) {}

  int64_t Run() {
    int64_t messages = 0;
    while (!partitions_.empty()) {
      const Uuid lease = MakeUuidV7();
      const std::vector<Leased> leased = Lease(lease);
      if (leased.empty()) continue;
      Ack(leased, lease);
      for (const Leased& one : leased) messages += one.end - one.cursor;
    }
    return messages;
  }

 private:
  std::vector<Leased> Lease(const Uuid& lease) {
    const size_t count =
        std::min(partitions_.size(), static_cast<size_t>(shape_.segments_per_call));
    pg::Int4Array requests(count);
    pg::Int4Array partitions(count);
    pg::Int4Array groups(count);
    pg::UuidArray leases(count);
    pg::Int4Array batches(count);
    pg::Int4Array seconds(count);
    pg::BoolArray auto_acks(count);
    std::vector<int32_t> asked(partitions_.begin(),
                               partitions_.begin() + static_cast<ptrdiff_t>(count));
    partitions_.erase(partitions_.begin(), partitions_.begin() + static_cast<ptrdiff_t>(count));
    for (size_t i = 0; i < count; ++i) {
      requests.Add(static_cast<int32_t>(i));
      partitions.Add(asked[i]);
      groups.Add(group_);
      leases.Add(lease);
      batches.Add(shape_.batch);
      seconds.Add(0);
      auto_acks.Add(false);
    }
    pg::Params params(8);
    params.Add(std::move(requests)).Add(std::move(partitions)).Add(std::move(groups));
    params.Add(std::move(leases)).Add(std::move(batches)).Add(std::move(seconds));
    params.Add(std::move(auto_acks)).Int8(int64_t{32} << 20);
    const pg::Rows rows = db_.Execute(storage::kLease, params);

    std::vector<Leased> leased;
    pg::Int4Array fetch_partitions;
    pg::Int8Array fetch_bases;
    for (int row = 0; row < rows.rows(); ++row) {
      const int32_t partition = asked[static_cast<size_t>(rows.Int4(row, 0)) - 1];
      if (rows.Text(row, 1) != "leased") continue;  // empty: done with it
      partitions_.push_back(partition);
      leased.push_back({partition, rows.Int8(row, 3), rows.Int8(row, 4)});
      pg::ArrayReader bases = rows.Array(row, 8);
      while (bases.Next()) {
        fetch_partitions.Add(partition);
        fetch_bases.Add(bases.Int8());
      }
    }
    if (!leased.empty()) {
      pg::Params fetch(2);
      fetch.Add(std::move(fetch_partitions)).Add(std::move(fetch_bases));
      db_.Execute(storage::kFetch, fetch);
    }
    return leased;
  }

  void Ack(const std::vector<Leased>& leased, const Uuid& lease) {
    pg::Int4Array partitions;
    pg::Int4Array groups;
    pg::UuidArray leases;
    pg::Int8Array bases;
    pg::TextArray dones;
    pg::Int8Array cumulatives;
    pg::Int8Array retry_froms;
    pg::BoolArray ends;
    for (const Leased& one : leased) {
      partitions.Add(one.partition);
      groups.Add(group_);
      leases.Add(lease);
      bases.Add(one.cursor);
      dones.Add(std::string(static_cast<size_t>(one.end - one.cursor), '1'));
      cumulatives.AddNull();
      retry_froms.AddNull();
      ends.Add(false);
    }
    pg::Params params(14);
    params.Null(pg::oid::kInt8).Null(pg::oid::kInt8);
    params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(leases));
    params.Add(std::move(bases)).Add(std::move(dones)).Add(std::move(cumulatives));
    params.Add(std::move(retry_froms)).Add(std::move(ends)).Add(pg::Int4Array());
    params.Add(pg::Int8Array()).Add(pg::TextArray()).Add(pg::TextArray());
    const pg::Rows rows = db_.Execute(storage::kAckMessages, params);
    for (int row = 0; row < rows.rows(); ++row) {
      if (rows.Text(row, 1) == "applied") continue;
      fmt::print(stderr, "raw_reference: an ack was answered {}\n", rows.Text(row, 1));
      std::exit(1);
    }
  }

  const RawShape& shape_;
  const int32_t group_;
  std::vector<int32_t> partitions_;  // that may have more
  RawConnection db_;
};

}  // namespace

RawResult RawDrain(const RawShape& shape, const std::string& queue,
                   const std::vector<int32_t>& partitions) {
  const int32_t group = MakeGroup(shape, queue);
  std::atomic<int64_t> messages = 0;
  const double seconds = OnEachConnection(shape, partitions, [&](const std::vector<int32_t>& own) {
    messages += Drainer(shape, group, own).Run();
  });
  return {messages, seconds};
}

}  // namespace queen::bench
