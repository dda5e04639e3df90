// Which message each ack means. What this process has delivered it remembers; the rest is asked of
// the database, and so is what was remembered and turns out to be settled or not under the lease.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "sidecar/ack.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

int64_t KeyNumber(PartitionId partition, int32_t group_id) {
  return int64_t{partition.value} << 32 | static_cast<uint32_t>(group_id);
}

}  // namespace

void AckQueue::SendFind() {
  std::vector<std::shared_ptr<AckCall>> calls;
  std::vector<std::pair<AckCall*, uint32_t>> asked;
  pg::Int4Array partitions;
  pg::TextArray groups;
  pg::TextArray txns;
  size_t items = 0;
  while (!find_.empty() && (items == 0 || items + find_.front()->open <= limits_.items_per_find)) {
    calls.push_back(std::move(find_.front()));
    find_.pop_front();
    AckCall& call = *calls.back();
    for (uint32_t i = 0; i < call.request.items.size(); ++i) {
      if (!call.unfound[i] || call.decided[i]) continue;
      const AckItem& item = call.request.items[i];
      partitions.Add(item.partition->value);
      groups.Add(item.group);
      txns.Add(item.txn);
      asked.emplace_back(&call, i);
      ++items;
    }
  }
  pg::Params params(3);
  params.Add(std::move(partitions)).Add(std::move(groups)).Add(std::move(txns));
  scheduler_.Execute(*this, 0, pg::Batch(storage::kFindAckTargets, std::move(params)),
                     [this, calls = std::move(calls), asked = std::move(asked)](
                         const pg::BatchResult& result) { OnFound(calls, asked, result); });
}

void AckQueue::OnFound(const std::vector<std::shared_ptr<AckCall>>& calls,
                       const std::vector<std::pair<AckCall*, uint32_t>>& asked,
                       const pg::BatchResult& result) {
  if (!result.ok()) {
    // It only reads, so any caller may simply ask again.
    for (const auto& call : calls) FailCall(*call, result.status);
    return;
  }
  for (const auto& [call, item] : asked) {
    call->unfound[item] = false;
    call->looked_up[item] = true;
  }
  const pg::Rows& rows = result.rows[0];
  for (int row = 0; row < rows.rows(); ++row) {
    const auto& [call, item] = asked[static_cast<size_t>(rows.Int4(row, 0)) - 1];
    state::AckTarget& target = call->targets[item];
    target.queue_name = rows.Text(row, 1);
    target.partition_name = rows.Text(row, 2);
    if (!rows.IsNull(row, 3)) target.group_id = rows.Int4(row, 3);
    if (!rows.IsNull(row, 4)) target.seq = rows.Int8(row, 4);
  }
  for (const auto& [call, item] : asked) DecideDoubted(*call, item);
  for (const auto& call : calls) {
    Distribute(call);
    call->finding =
        std::find(call->unfound.begin(), call->unfound.end(), true) != call->unfound.end();
    if (call->finding) find_.push_back(call);
  }
}

// What was delivered under a transactionId may not be what has it now: a name is free again once
// its message is gone from the log. And the group may have been deleted and made again. Whether the
// item is looked up in the database, which knows.
bool AckQueue::LookUpAgain(const std::shared_ptr<AckCall>& call, uint32_t item,
                           const AckOutcome& outcome) {
  if (call->looked_up[item]) return false;
  call->doubted.emplace(item, AckCall::Doubted{std::move(call->targets[item]), outcome});
  call->unfound[item] = true;
  call->placed[item] = false;
  call->targets[item] = {};
  if (!std::exchange(call->finding, true)) find_.push_back(call);
  return true;
}

// Unless another message has its transactionId now, or another group its name, the outcome stands.
void AckQueue::DecideDoubted(AckCall& call, uint32_t item) {
  const auto doubted = call.doubted.find(item);
  if (doubted == call.doubted.end()) return;
  const auto& [before, outcome] = doubted->second;
  const state::AckTarget& now = call.targets[item];
  const bool other_group = now.group_id && now.group_id != before.group_id;
  if (other_group && now.seq && !QUEEN_PLANTED(kGroupOfBefore)) return;
  if (!now.seq || now.seq == before.seq) Decide(call, item, outcome);
}

void AckQueue::Distribute(const std::shared_ptr<AckCall>& call) {
  std::vector<Key*> touched;
  for (uint32_t i = 0; i < call->request.items.size(); ++i) {
    if (call->decided[i] || call->placed[i] || call->unfound[i]) continue;
    const AckItem& item = call->request.items[i];
    const state::AckTarget& target = call->targets[i];
    if (!target.seq) {
      Decide(*call, i, Refusal(target, "Message not found"));
      continue;
    }
    if (!target.group_id) {
      Decide(*call, i, Refusal(target, "Invalid or expired lease"));
      continue;
    }
    const int64_t number = KeyNumber(*item.partition, *target.group_id);
    auto& key = keys_[number];
    if (!key) {
      key = std::make_unique<Key>();
      key->number = number;
      key->lane = {*item.partition, GroupId{*target.group_id}};
    }
    call->placed[i] = true;
    Join(key->groups, call, item.lease_id).items.push_back(i);
    touched.push_back(key.get());
  }
  for (Key* key : touched) MakeReady(*key);
  scheduler_.Wake();
}

}  // namespace queen::sidecar
