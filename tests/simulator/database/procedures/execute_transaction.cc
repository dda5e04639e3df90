#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "simulator/database/procedures/ack.h"
#include "simulator/database/procedures/lane.h"
#include "simulator/database/procedures/log.h"
#include "simulator/database/procedures/procedures.h"
#include "simulator/database/procedures/push.h"
#include "simulator/database/procedures/targets.h"

namespace queen::simulator {
namespace {

enum class Problem { kNone, kAgain, kNotFound, kNoLease, kJudged, kSettled };

struct Ack {
  int32_t index = 0;
  int32_t partition_id = 0;
  std::optional<int32_t> group_id;
  std::optional<Uuid> lease;
  std::string txn;
  std::optional<int64_t> seq;
  std::string kind;
  bool cumulative = false;
  std::optional<std::string> error;

  size_t key = 0;  // place among the keys
  Problem problem = Problem::kNone;
  bool dead = false;
  bool released = false;
};

SqlError Refusal(const char* sqlstate, const char* message, int32_t index, std::string_view txn) {
  return {sqlstate, message, fmt::format("index={} transactionId={}", index, txn)};
}

// A transactionId that is pushed twice to one partition.
void RefuseTwice(const PushRequest& push, const Array<int32_t>& indexes) {
  std::set<std::pair<int32_t, std::string_view>> seen;
  size_t message = 0;
  for (size_t i = 0; i < push.partitions.size(); ++i) {
    const std::vector<std::string_view> lines = LinesOf(push.txns[i]);
    for (size_t line = 0; line < lines.size(); ++line) {
      if (lines[line].empty() || seen.emplace(push.partitions.At(i), lines[line]).second) continue;
      throw Refusal("QN104", "Duplicate transactionId", indexes.At(message + line), lines[line]);
    }
    message += static_cast<size_t>(push.counts.At(i));
  }
}

// Whether every message to be pushed is stored.
bool AllStored(const Transaction& reader, const Catalog& catalog, const PushRequest& push) {
  for (size_t i = 0; i < push.partitions.size(); ++i) {
    const auto found =
        FindTransactions(reader, catalog, push.partitions.At(i), push.txns[i], 0, 0, true);
    if (found.size() != static_cast<size_t>(push.counts.At(i))) return false;
  }
  return true;
}

// queen.group_that_settled
std::optional<int32_t> GroupThatSettled(const Transaction& reader, const Catalog& catalog,
                                        const Ack& ack) {
  const PartitionRow* partition = catalog.partitions.Find(reader, ack.partition_id);
  if (partition == nullptr || !ack.seq) return std::nullopt;
  for (const int32_t group_id : catalog.groups_by_queue.Of(partition->queue_id)) {
    if (catalog.groups.Find(reader, group_id) == nullptr) continue;
    const auto [key, row] = NewestProgress(reader, catalog, {ack.partition_id, group_id});
    if (row == nullptr) continue;
    if (*ack.seq < row->cursor || BitsGet(row->settled, *ack.seq - row->cursor)) return group_id;
  }
  return std::nullopt;
}

std::vector<Ack> ReadAcks(const Arguments& in) {
  const Array<int32_t> indexes = in.Int4s(14);
  const Array<int32_t> partitions = in.Int4s(15);
  const Array<int32_t> groups = in.Int4s(16);
  const Array<Uuid> leases = in.Uuids(17);
  const Array<std::string_view> txns = in.Texts(18);
  const Array<int64_t> seqs = in.Int8s(19);
  const Array<std::string_view> kinds = in.Texts(20);
  const Array<bool> cumulatives = in.Bools(21);
  const Array<std::string_view> errors = in.Texts(22);
  std::vector<Ack> acks(partitions.size());
  for (size_t i = 0; i < acks.size(); ++i) {
    Ack& ack = acks[i];
    ack.index = indexes.At(i);
    ack.partition_id = partitions.At(i);
    ack.group_id = groups[i];
    ack.lease = leases[i];
    ack.txn = txns[i].value_or("");
    ack.seq = seqs[i];
    ack.kind = kinds.At(i);
    ack.cumulative = cumulatives[i].value_or(false);
    if (errors[i]) ack.error = std::string(*errors[i]);
  }
  return acks;
}

// Offsets, groups and leases that the acks leave open. Each of the three is a statement there.
Task<void> Complete(Transaction& writer, const Catalog& catalog, std::vector<Ack>& acks,
                    const PushRequest& push, const Array<Uuid>& required) {
  co_await writer.NextStatement();
  for (Ack& ack : acks) {
    if (!ack.seq) ack.seq = SeqOfMessage(writer, catalog, ack.partition_id, ack.txn);
  }
  co_await writer.NextStatement();
  bool open = false;
  for (Ack& ack : acks) {
    if (!ack.group_id) {
      ack.group_id = GroupOfLease(writer, catalog, ack.partition_id, ack.lease, required);
    }
    open |= !ack.group_id;
  }
  if (open && push.partitions.size() > 0 && AllStored(writer, catalog, push)) {
    for (Ack& ack : acks) {
      if (!ack.group_id) ack.group_id = GroupThatSettled(writer, catalog, ack);
    }
  }
  if (required.size() == 0) co_return;
  co_await writer.NextStatement();
  for (Ack& ack : acks) {
    if (ack.lease) continue;
    ack.lease = required.At(0);
    const auto [key, row] =
        NewestProgress(writer, catalog, {ack.partition_id, ack.group_id.value_or(0)});
    for (size_t i = 0; row != nullptr && i < required.size(); ++i) {
      if (row->lease_id == required.At(i)) ack.lease = row->lease_id;
    }
  }
}

std::vector<AckKey> FoldAcks(std::vector<Ack>& acks) {
  std::map<LaneId, size_t> places;
  for (Ack& ack : acks) places.emplace(LaneId{ack.partition_id, ack.group_id.value_or(0)}, 0);
  std::vector<AckKey> keys;
  for (auto& [lane, place] : places) {
    place = keys.size();
    AckKey key;
    key.lane = lane;
    key.ends = false;
    std::optional<int64_t> base;
    std::vector<int64_t> done;
    for (Ack& ack : acks) {
      if (LaneId{ack.partition_id, ack.group_id.value_or(0)} != lane) continue;
      ack.key = place;
      if (!key.lease) key.lease = ack.lease;
      if (!ack.seq) continue;
      base = std::min(base.value_or(*ack.seq), *ack.seq);
      if (ack.kind == "completed") {
        done.push_back(*ack.seq);
      } else {
        key.items.push_back({*ack.seq, ack.kind, ack.error});
      }
      if (ack.cumulative) {
        key.items.push_back({*ack.seq, ack.kind == "retry" ? "before" : "cumulative", ack.error});
      }
    }
    key.base = base.value_or(0);
    for (int64_t& seq : done) seq -= key.base;
    key.done = BitsOf(done);
    keys.push_back(std::move(key));
  }
  return keys;
}

Problem ProblemOf(const Ack& ack, const AckKey& key, const AckRow& row) {
  if (!ack.seq) return Problem::kNotFound;
  if (row.state == "gone") return Problem::kNoLease;
  const int64_t place = *ack.seq - row.cursor.value_or(0);
  if (row.cursor && (place < 0 || BitsGet(row.settled, place))) return Problem::kSettled;
  if (row.state == "again") return Problem::kAgain;
  if (row.state == "refused" || (ack.lease && key.lease && ack.lease != key.lease) ||
      (row.lease_end && *ack.seq >= *row.lease_end)) {
    return Problem::kNoLease;
  }
  if (row.cursor && BitsGet(row.failed, place)) {
    return ack.kind == "failed" ? Problem::kSettled : Problem::kJudged;
  }
  return Problem::kNone;
}

[[noreturn]] void Refuse(const Ack& ack) {
  switch (ack.problem) {
    case Problem::kNotFound:
      throw Refusal("QN101", "Message not found", ack.index, ack.txn);
    case Problem::kNoLease:
      throw Refusal("QN102", "Invalid or expired lease", ack.index, ack.txn);
    case Problem::kAgain:
      throw Refusal("40001", "another change came between", ack.index, ack.txn);
    default:
      throw Refusal("QN103", "Message already settled", ack.index, ack.txn);
  }
}

// Throws unless every ack is applied, or all are settled and every push is stored: a replay.
void CheckAcks(const Transaction& reader, const Catalog& catalog, const std::vector<Ack>& acks,
               const PushRequest& push) {
  const auto settled = std::count_if(
      acks.begin(), acks.end(), [](const Ack& ack) { return ack.problem == Problem::kSettled; });
  const bool replay =
      settled == static_cast<int64_t>(acks.size()) && AllStored(reader, catalog, push);
  const Ack* bad = nullptr;
  const auto rank = [](const Ack& ack) {
    return ack.problem == Problem::kAgain ? 0 : ack.problem == Problem::kSettled ? 2 : 1;
  };
  for (const Ack& ack : acks) {
    if (ack.problem == Problem::kNone || (ack.problem == Problem::kSettled && replay)) continue;
    if (bad == nullptr || rank(ack) < rank(*bad)) bad = &ack;
  }
  if (bad != nullptr) Refuse(*bad);
}

void AddPushed(Answer& answer, const PushedRow& row) {
  answer.Text("push")
      .Int4(row.ordinal)
      .Text(row.status)
      .Int8(row.base_seq)
      .Time(row.created_at)
      .Int4(row.line)
      .Null()
      .Null();
}

Task<void> PushAll(Transaction& writer, Catalog& catalog, const PushRequest& push,
                   const Array<int32_t>& indexes, bool acks, Answer& answer) {
  std::vector<PushedRow> rows = co_await Push(writer, catalog, push);
  std::sort(rows.begin(), rows.end(), [](const PushedRow& a, const PushedRow& b) {
    return std::pair(a.ordinal, a.line) < std::pair(b.ordinal, b.line);
  });
  const auto any = [&](const char* status) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const PushedRow& row) { return row.status == status; });
  };
  if (any("stale")) throw SqlError{"QN012", "the encryption of a queue was switched", ""};
  if (any("gone")) throw SqlError{"QN404", "a partition to push to is gone", ""};
  int64_t messages = 0;
  std::vector<size_t> firsts;
  for (size_t i = 0; i < push.counts.size(); ++i) {
    firsts.push_back(static_cast<size_t>(messages));
    messages += push.counts.At(i);
  }
  int64_t stored = 0;
  const PushedRow* first = nullptr;
  for (const PushedRow& row : rows) {
    if (row.status != "duplicate") continue;
    ++stored;
    if (first == nullptr) first = &row;
  }
  if (first != nullptr && (acks || stored < messages)) {
    const auto place = static_cast<size_t>(first->ordinal - 1);
    const int32_t line = *first->line;
    throw Refusal("QN104", "Duplicate transactionId",
                  indexes.At(firsts[place] + static_cast<size_t>(line)),
                  LineOf(push.txns.At(place), line));
  }
  for (const PushedRow& row : rows) AddPushed(answer, row);
}

PushRequest ReadPush(const Arguments& in) {
  PushRequest push;
  push.broker = in.Int8(1);
  push.n = in.Int8(2);
  push.wait = true;
  push.partitions = in.Int4s(3);
  push.counts = in.Int4s(4);
  push.payloads = in.Texts(5);
  push.txns = in.Texts(6);
  push.metas = in.Texts(7);
  push.txn_mins = in.Texts(8);
  push.txn_maxs = in.Texts(9);
  push.time_mins = in.Times(10);
  push.time_maxs = in.Times(11);
  push.untimed = in.Bools(12);
  push.encrypted = in.Bools(24);
  return push;
}

}  // namespace

Task<pg::Rows> ExecuteTransaction(Call& call) {
  Transaction& transaction = call.transaction;
  Catalog& catalog = call.catalog;
  const PushRequest push = ReadPush(call.arguments);
  const Array<int32_t> push_indexes = call.arguments.Int4s(13);
  const Array<Uuid> required = call.arguments.Uuids(23);
  std::vector<Ack> acks = ReadAcks(call.arguments);
  const bool pushes = push.partitions.size() > 0;
  RefuseTwice(push, push_indexes);
  if (pushes) co_await LockPartitions(transaction, push.partitions);

  bool replay = false;
  if (!acks.empty()) {
    co_await Complete(transaction, catalog, acks, push, required);
    const std::vector<AckKey> keys = FoldAcks(acks);
    const auto n = pushes ? std::nullopt : push.n;
    const std::vector<AckRow> rows =
        co_await AckMessages(transaction, catalog, push.broker, n, keys);
    co_await transaction.NextStatement();
    for (Ack& ack : acks) {
      const AckRow& row = rows[ack.key];
      ack.problem = ProblemOf(ack, keys[ack.key], row);
      ack.dead = ack.seq && std::count(row.dead_seqs.begin(), row.dead_seqs.end(), *ack.seq) > 0;
      ack.released = row.released.value_or(false);
      replay |= ack.problem == Problem::kSettled;
    }
    CheckAcks(transaction, catalog, acks, push);
  }

  Answer answer({{"part", oid::kText},
                 {"ordinal", oid::kInt4},
                 {"status", oid::kText},
                 {"base_seq", oid::kInt8},
                 {"created_at", oid::kTimestampTz},
                 {"line", oid::kInt4},
                 {"dead", oid::kBool},
                 {"released", oid::kBool}});
  if (pushes && replay) {
    co_await transaction.NextStatement();
    for (size_t i = 0; i < push.partitions.size(); ++i) {
      for (const FoundTransaction& found : FindTransactions(
               transaction, catalog, push.partitions.At(i), push.txns[i], 0, 0, true)) {
        AddPushed(answer, {static_cast<int32_t>(i + 1), "duplicate", found.seq, found.created_at,
                           found.line});
      }
    }
  } else if (pushes) {
    co_await transaction.NextStatement();
    co_await PushAll(transaction, catalog, push, push_indexes, !acks.empty(), answer);
  }
  for (size_t i = 0; i < acks.size(); ++i) {
    answer.Text("ack")
        .Int4(static_cast<int32_t>(i + 1))
        .Text(replay ? "settled" : "applied")
        .Int8(acks[i].seq)
        .Null()
        .Null()
        .Bool(acks[i].dead)
        .Bool(acks[i].released);
  }
  co_return std::move(answer).Take();
}

}  // namespace queen::simulator
