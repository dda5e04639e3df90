// FamilyPops: the pops of one worker that name no queue but a namespace and/or a task: any queue of
// that family, the highest priority first, and of equal ones the least recently served. A family
// with a group has one owner among the workers (EngineRouter), and its queues have theirs: this
// asks them through the Engine, with two kinds of pops that are made nowhere else:
//
//   a look    is parked in the (queue, group) like a waiter, but takes nothing: it comes back when
//             something is ready there. One per queue, however many pops wait for the family.
//   a probe   is a look that does not wait: after it, nothing found means nothing there.
//
//   a pop is   confirming  nothing is known to be ready, or something of a higher priority may be:
//                          waits for a round that began after it came. Without `wait` for one
//                          more if others were served with what that one found
//              serving     one of the queues is asked for messages
//              parked      with `wait`, until a look comes back; first come, first served
//
// A round (family_rounds.cc) makes sure of the family's list of queues and probes those that are
// not known to have something. Whatever makes a queue of the family ready ends its look, so waiting
// costs memory only; the rest is the list, which changes when a queue is made, deleted, moved or
// given another priority: by a push of this process (OnBorn), by its administration
// (OnQueueChanged), or elsewhere, told by the tail of the ledger (pop_tail.cc), which is read at
// growing intervals while somebody waits.
//
// The group's start is recorded for the whole family by the procedure that lists it, before
// anything is answered (sql/procedures/find_family.sql).
//
// On the worker's loop. What the Engine answers is handled later in the turn, never inside a call.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loop/timer.h"
#include "sidecar/requests.h"
#include "sidecar/sidecar.h"

namespace queen::sidecar {

class FamilyPops {
 public:
  // REQUIRES: engine and sidecar are those of the loop's worker and outlive it
  FamilyPops(Loop& loop, Engine& engine, Sidecar& sidecar);

  void Submit(uint64_t ticket, PopRequest request, PopDone done);
  // The client has gone: no lease is taken, and one that was is given back.
  void Cancel(uint64_t ticket);

  // A push of this process has made this queue.
  void OnBorn(std::string_view queue);
  // Administration changed a queue, or several.
  void OnQueueChanged();
  // The broker is going to stop: whoever waits is answered now, and nobody waits any more.
  void StopWaiting();
  // How often rounds have come by a queue.
  int64_t members_probed() const { return members_probed_; }

 private:
  static constexpr int64_t kForeverMs = int64_t{1} << 40;
  static constexpr int64_t kLingerMs = 10'000;  // what is known of a family nobody pops is kept
  static constexpr int64_t kGraceMs = 200;      // for a pop that is on its way when its wait ends
  static constexpr int kListAttemptsMax = 3;
  static constexpr int kOutrunMax = 3;

  struct Family;
  using FamilyPtr = std::shared_ptr<Family>;

  struct Member {
    int32_t queue_id = 0;
    std::string queue;
    int32_t priority = 0;
    int64_t served = 0;  // by Family::clock, 0: never
    bool ready = false;  // believed to have something
    int64_t look = 0;    // the number of the one that is parked, 0: none
    CancelPop cancel_look;
    int64_t probed_round = 0;  // the last that has probed it
  };

  struct Want {
    enum class State { kConfirming, kServing, kParked, kFinished };
    uint64_t ticket = 0;
    PopRequest request;
    PopDone done;
    FamilyPtr family;
    State state = State::kConfirming;
    int64_t deadline_ms = 0;
    std::optional<std::multimap<int64_t, std::shared_ptr<Want>>::iterator> deadline;
    int64_t round = 0;       // the first that began after it came
    bool confirmed = false;  // that round has ended
    bool late = false;       // its wait is over
    bool parked = false;     // once at least
    int outrun = 0;          // how often others had what was ready for it
    CancelPop cancel;        // kServing
  };
  using WantPtr = std::shared_ptr<Want>;

  struct Family {
    explicit Family(const state::BackoffLimits& check) : backoff(check) {}

    std::string key;
    std::optional<std::string> namespace_name;
    std::optional<std::string> task;
    std::string group;
    std::map<std::string, Member> members;  // by queue
    int32_t priority_max = 0;
    int64_t clock = 0;

    // The list holds while neither has changed since it was asked for.
    int64_t changes = 1;
    int64_t listed_changes = 0;
    int64_t listed_generation = 0;  // of the tail

    bool round = false;  // one is under way
    int64_t rounds_begun = 0;
    int64_t rounds_done = 0;
    int64_t round_clock = 0;    // `clock` when it began
    int64_t round_read = 0;     // the read of the tail it waits for
    bool round_listed = false;  // it has asked for the list
    bool round_probed = false;  // every queue of the list has been
    bool crowded = false;       // somewhere there was no room for a probe of it
    size_t probes_open = 0;
    Status round_error;
    bool listing = false;
    int list_attempts = 0;

    std::list<WantPtr> confirming;
    std::list<WantPtr> parked;
    size_t open = 0;
    int64_t used_ms = 0;
    state::GroupBackoff backoff;  // the net under lost hints, as in PopGroup

    // Whether a queue with these belongs to it.
    bool Has(std::string_view its_namespace, std::string_view its_task) const {
      return (!namespace_name || *namespace_name == its_namespace) && (!task || *task == its_task);
    }
  };

  struct Listed {
    int32_t queue_id;
    std::string queue;
    int32_t priority;
  };

  FamilyPtr FamilyOf(const PopRequest& request);
  static Member* Best(Family& family);
  void Choose(const WantPtr& want);
  void Serve(const WantPtr& want, Member& member);
  void OnServed(const WantPtr& want, Result<PopResult> result);
  bool MayPark(const Want& want) const;
  static bool MayAskAgain(Want& want);
  void Park(const WantPtr& want);
  void ServeParked(const FamilyPtr& family);
  void FailOrPark(const WantPtr& want, const Status& status);
  void Finish(const WantPtr& want, Result<PopResult> result);
  void SetDeadline(const WantPtr& want, int64_t at_ms);
  void SetTimer(int64_t at_ms);
  void OnTimer();
  void OnDeadline(const WantPtr& want, int64_t now);
  void Check(const FamilyPtr& family, int64_t now);

  // family_rounds.cc
  bool IsListed(const Family& family) const;
  void Confirm(const WantPtr& want);
  void AwaitRound(const WantPtr& want);
  void BeginRound(const FamilyPtr& family);
  void StepRound(const FamilyPtr& family);
  void EndRound(const FamilyPtr& family, const Status& status);
  void SendList(const FamilyPtr& family);
  void OnListed(const FamilyPtr& family, const Result<std::vector<Listed>>& listed,
                int64_t generation, int64_t changes);
  static void TakeList(Family& family, const std::vector<Listed>& listed);
  void ProbeAll(const FamilyPtr& family);
  void Probe(const FamilyPtr& family, Member& member);
  void OnProbed(const FamilyPtr& family, const std::string& queue, const Result<PopResult>& result);
  void Look(const FamilyPtr& family, Member& member);
  void LookEverywhere(const FamilyPtr& family);
  void OnLooked(const FamilyPtr& family, const std::string& queue, int64_t look,
                const Result<PopResult>& result);
  void OnNews(const TailNews& news);
  void Refresh(const FamilyPtr& family);
  static PopRequest LookAt(const Family& family, const Member& member, int64_t wait_ms);
  static void EndLook(Member& member);

  Loop& loop_;
  Engine& engine_;
  PopStateMachine& pop_;
  Lookups& lookups_;
  const PopLimits& limits_;
  std::unordered_map<std::string, FamilyPtr> families_;
  std::unordered_map<uint64_t, WantPtr> wants_;  // not finished
  std::multimap<int64_t, WantPtr> deadlines_;
  int64_t looks_made_ = 0;
  int64_t members_probed_ = 0;
  int64_t read_done_ = 0;  // the last read of the tail that was heard of
  Timer timer_;
  int64_t timer_at_ms_ = 0;  // 0: not running
};

}  // namespace queen::sidecar
