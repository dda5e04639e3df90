// Truth: what clients have been told, and the rules that it must keep. It knows nothing of how the
// engine works; whatever clients cannot tell for sure (a reply that never came) counts in favour of
// the engine.
//
//   I1  a message that was answered `queued` before another was sent stands before it; an offset
//       has one message for ever; a delivery rises and leaves nothing out that is open
//   I3  nobody is given a lane that another holds; who lost it has no ack accepted any more
//   I4  what was acked `completed` is not delivered again
//   I5  what was answered `queued` is in the log
//   I6  one `queued` per transactionId
//   I11 of a transaction all is there, or nothing
//   end every message was settled by a client, for every group
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sidecar/requests.h"
#include "simulator/history.h"

namespace queen::simulator {

struct PartitionName {
  std::string queue;
  std::string name;
  auto operator<=>(const PartitionName&) const = default;
};

// A message as a client has it in its hand.
struct Received {
  int message = 0;
  int partition = 0;
  PartitionId partition_id;
  int64_t seq = 0;
  std::string txn;  // what acks call it
  int failures = 0;
};

struct PopCall {
  std::string group;
  int64_t sent_at = 0;
  bool auto_ack = false;
  int32_t batch = 1;
  int32_t lease_seconds = 0;
};

class Truth {
 public:
  Truth(const Scheduler& time, History& history, std::vector<PartitionName> partitions,
        int32_t retry_limit);

  const std::vector<PartitionName>& partitions() const { return partitions_; }
  int PartitionOf(const std::string& queue, const std::string& name) const;

  // ---- pushes

  // A message is made. Its payload is its number, as JSON.
  int Make(int partition, std::string txn);
  const std::string& TxnOf(int message) const { return At(message).txn; }
  int PartitionOfMessage(int message) const { return At(message).partition; }
  void OnPushSent(int message);
  // It was answered, or its answer is lost.
  void OnPushOver(int message) { --unheard_pushes_[At(message).partition]; }
  void OnPushed(int message, int64_t sent_at, const sidecar::PushOutcome& outcome);

  // ---- pops and verdicts

  std::vector<Received> OnDelivered(const PopCall& call, const sidecar::PopResult& result);
  // It is not known what a pop has come to.
  void OnPopLost(const PopCall& call);
  // A verdict that is on its way.
  struct Said {
    std::string group;
    Uuid lease;
    Received message;
    sidecar::Verdict verdict = sidecar::Verdict::kCompleted;
    int64_t sent_at = 0;
    bool may_settle = false;
  };
  Said OnVerdictSent(const std::string& group, const Uuid& lease, const Received& message,
                     sidecar::Verdict verdict);
  void OnVerdict(const Said& said, const sidecar::AckOutcome& outcome);
  // They were answered, or their answer is lost.
  void OnVerdictsOver(const std::vector<Said>& said);
  // A pop was left, or its time is over: should it have been on its way, its lease is given back.
  void OnPopOver(const std::string& group) { pops_over_at_[group] = Now(); }
  // Whether the lane may have been changed by something that no client has heard the end of, and
  // no broker, maybe.
  bool IsChanging(const std::string& group, int partition) const;
  // The lease was renewed for so long, by a call that was sent then.
  void OnRenewed(const std::string& group, const Uuid& lease, int partition, int64_t sent_at,
                 int32_t seconds);
  void OnGivenBack(const std::string& group, const Uuid& lease, int partition);

  // ---- transactions (I11)

  // All of it, or nothing.
  struct Bundle {
    std::vector<int> messages;
    std::vector<Said> said;
    int64_t sent_at = 0;
  };
  void OnBundleRefused(const Bundle& bundle, const std::string& why);
  // No answer came: it may have happened.
  void OnBundleLost(Bundle bundle);

  // ---- what takes rules away for a while

  void OnCrash();
  // Administration moves a group on a queue to the begin or to the end of all its partitions. What
  // is on its way meanwhile may come before or behind that.
  struct Moved {
    std::string queue;
    std::string group;
    bool to_end = false;
    int64_t sent_at = 0;
  };
  void OnMoveSent(const Moved& moved);
  enum class MoveEnd { kNothing, kDone, kUnknown };  // kNothing: there was no such group
  void OnMoved(const Moved& moved, MoveEnd end);
  // Whether the lane may have been moved since then.
  bool WasMovedSince(const std::string& group, int partition, int64_t since) const;

  // ---- the end. `log`: all messages of the partition by their offset

  void CheckBundles();
  void CheckLog(int partition, const std::map<int64_t, std::string>& log);
  void CheckAllSettled(const std::string& group, const std::set<std::string>& queues);

  int64_t queued() const { return queued_; }
  int64_t delivered() const { return delivered_; }

 private:
  static constexpr int64_t kUnknown = -1;
  static constexpr int kNoBundle = -1;

  struct Message {
    int partition = 0;
    std::string txn;
    int64_t seq = kUnknown;
    bool queued = false;  // answered so
    bool refused = false;
    bool never = false;      // it is known not to be stored
    int64_t sent_at = 0;     // first
    int bundle = kNoBundle;  // of those that no answer came to
  };
  // One message for one group.
  struct Mark {
    int64_t settled_at = kUnknown;  // when a client was told
    int maybe = 0;                  // verdicts that would settle it and may have
    int failures_sent = 0;
    bool excused = false;  // a seek, or an automatic ack that nobody saw
  };
  struct Holder {
    Uuid lease;
    int64_t sent_at = 0;
    int64_t received_at = 0;
    int64_t until = 0;  // at the earliest
    std::set<int64_t> open;
    bool released = false;
  };
  struct Lane {
    std::map<int64_t, Mark> marks;
    std::vector<Holder> holders;    // the last few
    bool moving = false;            // by administration
    int64_t sought_at = kUnknown;   // moved at the latest then
    int64_t skipped_at = kUnknown;  // ... what was sent before then may have been skipped
    int64_t settled_below = 0;      // what was told to be below this offset is settled for good
  };

  Message& At(int message) { return messages_[static_cast<size_t>(message)]; }
  const Message& At(int message) const { return messages_[static_cast<size_t>(message)]; }
  Lane& LaneOf(const std::string& group, int partition) { return lanes_[{group, partition}]; }
  void Place(int message, int64_t seq, const char* told_by);
  void SettleBundle(int bundle);
  bool MayBeSkipped(const Lane& lane, int message) const {
    return lane.skipped_at != kUnknown && At(message).sent_at <= lane.skipped_at;
  }
  void CheckHolder(const PopCall& call, const Uuid& lease, int partition, Lane& lane);
  void CheckNoneLeftOut(const PopCall& call, int partition, Lane& lane,
                        const std::vector<Received>& got);
  bool MaySettle(const Mark& mark, sidecar::Verdict verdict) const;
  static Holder* HolderOf(Lane& lane, const Uuid& lease);
  int64_t Now() const { return time_.NowMicros(); }

  const Scheduler& time_;
  History& history_;
  const std::vector<PartitionName> partitions_;
  const int32_t retry_limit_;
  std::map<PartitionName, int> by_name_;
  std::vector<Message> messages_;
  std::vector<std::map<int64_t, int>> logs_;         // by partition: offset -> message
  std::vector<std::map<int64_t, int64_t>> told_at_;  // by partition: offset -> when it was `queued`
  std::map<std::pair<int, std::string>, int> queued_txns_;
  std::map<std::pair<std::string, int>, Lane> lanes_;
  std::vector<Bundle> bundles_;        // that no answer came to
  std::map<int, int> unheard_pushes_;  // by partition
  std::map<std::pair<std::string, int>, int> unheard_verdicts_;
  std::map<std::string, int64_t> pops_over_at_;
  std::map<std::string, int64_t> unseen_;  // by group: messages automatic acks may have settled
  int64_t crashed_at_ = kUnknown;
  int64_t queued_ = 0;
  int64_t delivered_ = 0;
};

}  // namespace queen::simulator
