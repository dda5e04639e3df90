// PushQueue, the way around PostgreSQL through the file buffer. This file decides which way an item
// takes:
//
//   PostgreSQL is away            everything that waits is appended to the buffer, in order, and
//                                 what comes is appended at once
//   the buffer holds messages     the partition stands aside: what comes is appended behind them,
//   of the partition              or, when they are about to be stored, kept here until they are
//   otherwise                     direct
//
// Items of a batch in flight are left alone, and what waits behind them waits for the end of the
// batch. A held partition has no items in a batch, except those that are `ahead`.
// Two kinds of groups are `ahead`: those that are replayed, and those that were in doubt while
// later ones went to the buffer. They stand before all others of their partition, are sent although
// it is held, and are never appended to the buffer.
#include <algorithm>
#include <iterator>

#include "base/log.h"
#include "sidecar/push.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// Errors that say something about the message: its data, a constraint, a limit of PostgreSQL, what
// our procedures refuse.
constexpr std::string_view kBlamesTheMessage[] = {"22", "23", "54", "QN011", "QN4"};

}  // namespace

void PushQueue::Watch() {
  if (detour_.buffer != nullptr && items_waiting_ > 0 && (!scheduler_.AnyUp() || Away())) {
    StartTick();
  }
}

// The group that was just added is replayed: it goes before all that are not.
void PushQueue::MoveAhead(Partition& partition) {
  std::deque<PushGroup>& groups = partition.groups;
  const auto place = std::find_if(groups.begin(), groups.end(),
                                  [](const PushGroup& group) { return !group.ahead; });
  if (place != groups.end()) std::rotate(place, std::prev(groups.end()), groups.end());
  if (partition.state == State::kAside) partition.state = State::kIdle;
}

bool PushQueue::MustStandAside(const Partition& partition) const {
  if (detour_.buffer == nullptr || partition.groups.empty() || partition.groups.front().ahead) {
    return false;
  }
  if (detour_.buffer->active() &&
      detour_.buffer->RouteOf(partition.queue, partition.name) != PushBuffer::Route::kDirect) {
    return true;
  }
  return Away();
}

// REQUIRES: the partition is in no list, MustStandAside
void PushQueue::StandAside(Partition& partition) {
  if (MustWait(partition)) {
    partition.state = State::kAside;
    aside_.insert(&partition);
    StartTick();
    return;
  }
  Divert(partition);
  partition.state = State::kIdle;
  partition.idle_since_ms = loop_.NowMillis();
  ListIdle(partition, idle_);
}

// Whether what waits in the partition waits for the buffer, rather than for PostgreSQL.
bool PushQueue::MustWait(const Partition& partition) const {
  return detour_.buffer->active() && !Away() &&
         detour_.buffer->RouteOf(partition.queue, partition.name) == PushBuffer::Route::kWait;
}

// Lets go of the partitions that need no longer wait for the buffer.
void PushQueue::ReviewAside() {
  for (Partition* partition : std::vector(aside_.begin(), aside_.end())) {
    ExpireGroups(*partition);
    const bool waits = !partition->groups.empty() && !partition->groups.back().ahead;
    if (waits && MustWait(*partition)) continue;
    aside_.erase(partition);
    if (partition->state == State::kAside) {
      BecomeIdle(*partition);
    } else if (waits && detour_.buffer->Holds(partition->queue, partition->name)) {
      Divert(*partition);
    }
  }
}

// What came to a held partition while its replay is on its way does not wait for the end of that.
void PushQueue::DivertIfHeld(Partition& partition) {
  if (detour_.buffer == nullptr || !detour_.buffer->active() || partition.state == State::kIdle ||
      !detour_.buffer->Holds(partition.queue, partition.name)) {
    return;
  }
  if (MustWait(partition)) {
    aside_.insert(&partition);
    StartTick();
  } else {
    Divert(partition);
  }
}

// REQUIRES: Away()
void PushQueue::DivertWaiting() {
  if (items_waiting_ == replays_waiting_) return;
  for (Partition* partition : resolving_) Divert(*partition);
  std::vector<Partition*> lists;
  std::copy(unresolved_.begin(), unresolved_.end(), std::back_inserter(lists));
  std::copy(ready_.begin(), ready_.end(), std::back_inserter(lists));
  unresolved_.clear();
  ready_.clear();
  std::erase_if(paused_, [&](const auto& paused) {
    ExpireGroups(*paused.second);
    Divert(*paused.second);
    if (paused.second->groups.empty()) lists.push_back(paused.second);
    return paused.second->groups.empty();
  });
  for (Partition* partition : lists) {
    ExpireGroups(*partition);
    Divert(*partition);
    BecomeIdle(*partition);
  }
}

// Appends what waits in the partition to the buffer; what is ahead stays.
void PushQueue::Divert(Partition& partition) {
  const auto first = std::find_if(partition.groups.begin(), partition.groups.end(),
                                  [](const PushGroup& group) { return !group.ahead; });
  std::vector<PushGroup> taken(std::make_move_iterator(first),
                               std::make_move_iterator(partition.groups.end()));
  partition.groups.erase(first, partition.groups.end());
  for (PushGroup& group : taken) Buffer(partition, std::move(group));
}

void PushQueue::Buffer(const Partition& partition, PushGroup group) {
  std::erase_if(group.items, [&](uint32_t item) { return group.call->decided[item]; });
  if (group.items.empty()) return;
  if (partition.encrypted == true && !cipher_.can_encrypt()) {
    return Fail(group, Status(Code::kNoEncryptionKey));
  }
  // Encrypted unless the queue is known not to be.
  const bool seal = cipher_.can_encrypt() && partition.encrypted.value_or(true);
  std::vector<std::string> payloads(seal ? group.items.size() : 0);
  std::vector<std::string> metas(payloads.size());
  std::vector<BufferedMessage> messages;
  std::vector<Uuid> made(group.items.size());
  std::vector<std::string> made_texts(group.items.size());
  for (size_t i = 0; i < group.items.size(); ++i) {
    const PushItem& item = group.call->request.items[group.items[i]];
    if (item.txn.empty()) {
      made[i] = MakeUuidV7();
      made_texts[i] = made[i].ToString();
    }
    messages.push_back({item.txn.empty() ? made_texts[i] : item.txn, item.payload, item.meta});
    if (!seal) continue;
    payloads[i] = cipher_.EncryptBuffered(item.payload, partition.queue, partition.name);
    metas[i] = storage::EncryptedMeta(item.meta);
    messages.back().payload = payloads[i];
    messages.back().meta = metas[i];
  }
  detour_.buffer->Append(loop_, partition.queue, partition.name, messages,
                         [this, group = std::move(group), made = std::move(made)](
                             const Status& status) mutable { OnBuffered(group, made, status); });
}

void PushQueue::OnBuffered(PushGroup& group, const std::vector<Uuid>& made_txns,
                           const Status& status) {
  if (!status.ok()) return Fail(group, status);
  for (size_t i = 0; i < group.items.size(); ++i) {
    Decide({group.call.get(), group.items[i]},
           {PushOutcome::Status::kBuffered, {}, {}, made_txns[i]});
  }
}

// What is replayed is stored in the database that it was buffered for. A connection may lead to
// another one, at any reconnect; so every batch with replayed groups in it begins with the
// question, and fails as a whole where the answer is no. It goes again until the broker stops for
// that reason or a connection leads to the right one.
pg::Batch PushQueue::BeginBatch(bool replays) const {
  pg::Batch batch;
  const auto owner = replays ? Uuid::Parse(detour_.buffer->owner()) : std::nullopt;
  if (owner) {
    pg::Params params(1);
    params.Uuid(*owner);
    batch.Add(storage::kRequireDatabase, std::move(params));
  }
  return batch;
}

// Whether PostgreSQL's refusal is the group's own fault. A caller hears of any refusal; a replayed
// group is only given up for what is wrong with its messages, and tried again when it is something
// that a person may put right (a permission, a table).
bool PushQueue::IsToBlame(const PushGroup& group, const pg::BatchResult& result) {
  if (!group.call->request.replay || !result.sent) return true;
  const bool to_blame =
      std::any_of(std::begin(kBlamesTheMessage), std::end(kBlamesTheMessage),
                  [&](std::string_view prefix) { return result.sqlstate.starts_with(prefix); });
  if (!to_blame) {
    log::ErrorRarely("PostgreSQL refuses buffered messages; trying again",
                     {{"sqlstate", result.sqlstate}, {"error", result.status.message()}});
  }
  return to_blame;
}

}  // namespace queen::sidecar
