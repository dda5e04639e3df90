// What is known of a family: which queues it has, and which of them have something. Explained in
// family_pops.h.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "sidecar/family_pops.h"
#include "storage/procedures.h"

namespace queen::sidecar {
namespace {

// The n-th part of a queue's name, from which a push makes its namespace (0) and task (1).
std::string_view PartOfName(std::string_view queue, int n) {
  for (; n > 0; --n) {
    const size_t dot = queue.find('.');
    if (dot == std::string_view::npos) return {};
    queue.remove_prefix(dot + 1);
  }
  return queue.substr(0, queue.find('.'));
}

Status Crowded() {
  return Status(Code::kOverloaded, "Too many queues of namespaces or tasks are waited for");
}

void AddNameOrNull(pg::Params& params, const std::optional<std::string>& name) {
  if (name) {
    params.Text(*name);
  } else {
    params.Null(pg::oid::kText);
  }
}

}  // namespace

bool FamilyPops::IsListed(const Family& family) const {
  return family.listed_changes == family.changes && family.listed_generation != 0 &&
         family.listed_generation == pop_.generation();
}

// ---- rounds

void FamilyPops::Confirm(const WantPtr& want) {
  AwaitRound(want);
  if (!want->family->round) BeginRound(want->family);
}

void FamilyPops::AwaitRound(const WantPtr& want) {
  want->state = Want::State::kConfirming;
  want->confirmed = false;
  want->round = want->family->rounds_begun + 1;
  want->family->confirming.push_back(want);
}

void FamilyPops::BeginRound(const FamilyPtr& family) {
  family->round = true;
  ++family->rounds_begun;
  family->round_clock = family->clock;
  family->round_listed = false;
  family->round_probed = false;
  family->crowded = false;
  family->round_error = Status::Ok();
  family->list_attempts = 0;
  family->round_read = pop_.AskNews();
  if (!IsListed(*family)) return;
  // Beside the read: usually it tells of no other queues.
  ProbeAll(family);
}

void FamilyPops::ProbeAll(const FamilyPtr& family) {
  family->round_probed = true;
  members_probed_ += static_cast<int64_t>(family->members.size());
  for (auto& [queue, member] : family->members) Probe(family, member);
}

void FamilyPops::StepRound(const FamilyPtr& family) {
  if (!family->round || read_done_ < family->round_read) return;
  if (!IsListed(*family) && !family->round_listed) {
    if (pop_.generation() == 0) {  // first the snapshot: what changes behind it is told by the tail
      family->round_read = pop_.AskNews();
    } else if (!family->listing) {
      SendList(family);
    }
    return;
  }
  // A family may have very many queues: they are gone through once, and not for each answer. The
  // last answer goes through them again, for those that had something and were asked for it
  // meanwhile.
  if (family->round_probed && family->probes_open > 0) return;
  ProbeAll(family);
  if (family->probes_open == 0) EndRound(family, family->round_error);
}

void FamilyPops::EndRound(const FamilyPtr& family, const Status& status) {
  family->round = false;
  family->rounds_done = family->rounds_begun;
  std::vector<WantPtr> confirmed;
  for (auto next = family->confirming.begin(); next != family->confirming.end();) {
    if ((*next)->round <= family->rounds_done) {
      confirmed.push_back(*next);
      next = family->confirming.erase(next);
    } else {
      ++next;
    }
  }
  const bool any_ready = Best(*family) != nullptr;
  for (const WantPtr& want : confirmed) {
    Member* best = Best(*family);
    // Those who ask the queues that were ready may leave something. Where the round has found one,
    // it serves somebody who came before: then this ends by itself.
    const bool outrun = any_ready || (family->clock != family->round_clock && MayAskAgain(*want));
    if (status.ok() && best == nullptr && !MayPark(*want) && outrun) {
      AwaitRound(want);
    } else if (status.ok()) {
      want->confirmed = true;
      Choose(want);
    } else if (best != nullptr) {
      Serve(want, *best);
    } else if (family->crowded) {
      Finish(want, status);
    } else {
      FailOrPark(want, status);
    }
  }
  if (!family->parked.empty()) {
    LookEverywhere(family);
    ServeParked(family);
  }
  if (!family->round && !family->confirming.empty()) BeginRound(family);
  if (status.ok()) Refresh(family);
}

// Somebody waits, and the family may have other queues by now.
void FamilyPops::Refresh(const FamilyPtr& family) {
  if (!family->round && !family->parked.empty() && !IsListed(*family)) BeginRound(family);
}

// ---- the list

void FamilyPops::SendList(const FamilyPtr& family) {
  // Whoever asked has gone: nobody is there to say where the group starts.
  if (family->confirming.empty() && family->parked.empty()) {
    EndRound(family, Status::Ok());
    return;
  }
  family->listing = true;
  ++family->list_attempts;
  // Who came first decides the group's start, should it not be recorded yet.
  const PopRequest& first = !family->confirming.empty() ? family->confirming.front()->request
                                                        : family->parked.front()->request;
  pg::Params params(5);
  AddNameOrNull(params, family->namespace_name);
  AddNameOrNull(params, family->task);
  params.Text(family->group).Text(ModeName(first.start_mode));
  if (first.start_mode == StartMode::kTime) {
    params.TimestampTz(first.start_micros);
  } else {
    params.Null(pg::oid::kTimestampTz);
  }
  lookups_.Ask(
      storage::kFindFamily, std::move(params),
      [this, family, generation = pop_.generation(),
       changes = family->changes](const pg::BatchResult& result) {
        Result<std::vector<Listed>> listed = std::vector<Listed>();
        if (!result.ok()) listed = result.status;
        for (int row = 0; result.ok() && row < result.rows[0].rows(); ++row) {
          const pg::Rows& rows = result.rows[0];
          listed->push_back({rows.Int4(row, 0), std::string(rows.Text(row, 1)), rows.Int4(row, 2)});
        }
        loop_.Post([this, family, generation, changes, listed = std::move(listed)] {
          OnListed(family, listed, generation, changes);
        });
      });
}

void FamilyPops::OnListed(const FamilyPtr& family, const Result<std::vector<Listed>>& listed,
                          int64_t generation, int64_t changes) {
  family->listing = false;
  if (!listed.ok()) {
    log::Debug("listing a family failed", {{"error", listed.status().ToString()}});
    const bool again = listed.status().retryable() && pop_.AnyUp();
    if (again && family->list_attempts < kListAttemptsMax) {
      SendList(family);
    } else {
      EndRound(family, listed.status());
    }
    return;
  }
  TakeList(*family, *listed);
  family->listed_generation = generation;
  family->listed_changes = changes;
  family->round_listed = true;
  family->round_probed = false;
  StepRound(family);
}

void FamilyPops::TakeList(Family& family, const std::vector<Listed>& listed) {
  std::map<std::string, Member> before = std::move(family.members);
  family.members.clear();
  family.priority_max = INT32_MIN;
  for (const Listed& queue : listed) {
    Member& member = family.members[queue.queue];
    if (const auto known = before.find(queue.queue);
        known != before.end() && known->second.queue_id == queue.queue_id) {
      member = std::move(known->second);
      before.erase(known);
    }
    member.queue_id = queue.queue_id;
    member.queue = queue.queue;
    member.priority = queue.priority;
    family.priority_max = std::max(family.priority_max, queue.priority);
  }
  for (auto& [queue, member] : before) EndLook(member);
}

// ---- looks and probes

PopRequest FamilyPops::LookAt(const Family& family, const Member& member, int64_t wait_ms) {
  PopRequest request;
  request.queue = member.queue;
  request.group = family.group;
  request.wait_ms = wait_ms;
  request.member = true;
  request.look = true;
  return request;
}

// Once in each round.
void FamilyPops::Probe(const FamilyPtr& family, Member& member) {
  if (member.ready || member.probed_round == family->rounds_begun) return;
  member.probed_round = family->rounds_begun;
  ++family->probes_open;
  engine_.Pop(
      LookAt(*family, member, 0), [this, family, queue = member.queue](Result<PopResult> result) {
        loop_.Post(
            [this, family, queue, result = std::move(result)] { OnProbed(family, queue, result); });
      });
}

void FamilyPops::OnProbed(const FamilyPtr& family, const std::string& queue,
                          const Result<PopResult>& result) {
  --family->probes_open;
  if (!result.ok()) family->round_error = result.status();
  if (result.ok() && result->gone) ++family->changes;
  if (result.ok() && result->crowded) {
    family->crowded = true;
    family->round_error = Crowded();
  }
  const auto member = family->members.find(queue);
  if (result.ok() && result->found && member != family->members.end()) member->second.ready = true;
  StepRound(family);
}

void FamilyPops::Look(const FamilyPtr& family, Member& member) {
  EndLook(member);
  member.look = ++looks_made_;
  member.cancel_look = engine_.Pop(
      LookAt(*family, member, kForeverMs),
      [this, family, queue = member.queue, look = member.look](Result<PopResult> result) {
        loop_.Post([this, family, queue, look, result = std::move(result)] {
          OnLooked(family, queue, look, result);
        });
      });
}

void FamilyPops::LookEverywhere(const FamilyPtr& family) {
  for (auto& [queue, member] : family->members) {
    if (!member.ready && member.look == 0) Look(family, member);
  }
}

void FamilyPops::EndLook(Member& member) {
  member.look = 0;
  if (member.cancel_look) std::exchange(member.cancel_look, nullptr)();
}

void FamilyPops::OnLooked(const FamilyPtr& family, const std::string& queue, int64_t look,
                          const Result<PopResult>& result) {
  const auto known = family->members.find(queue);
  if (known == family->members.end() || known->second.look != look) return;
  known->second.look = 0;
  known->second.cancel_look = nullptr;
  if (!result.ok()) return;  // looked again by the next check
  if (result->crowded) {
    // What becomes ready there would not be heard of: nobody is left waiting for it.
    const std::list<WantPtr> parked = family->parked;
    for (const WantPtr& want : parked) Finish(want, Crowded());
    return;
  }
  if (result->gone) {
    ++family->changes;
    Refresh(family);
  }
  if (result->found) {
    known->second.ready = true;
    ServeParked(family);
  }
}

// ---- other queues

void FamilyPops::OnBorn(std::string_view queue) {
  loop_.AssertOwner();
  const std::vector<std::pair<std::string, FamilyPtr>> all(families_.begin(), families_.end());
  for (const auto& [key, family] : all) {
    if (!family->Has(PartOfName(queue, 0), PartOfName(queue, 1))) continue;
    ++family->changes;
    Refresh(family);
  }
}

void FamilyPops::OnQueueChanged() {
  loop_.AssertOwner();
  const std::vector<std::pair<std::string, FamilyPtr>> all(families_.begin(), families_.end());
  for (const auto& [key, family] : all) {
    ++family->changes;
    Refresh(family);
  }
}

void FamilyPops::OnNews(const TailNews& news) {
  read_done_ = news.read;
  const std::vector<std::pair<std::string, FamilyPtr>> all(families_.begin(), families_.end());
  for (const auto& [key, family] : all) {
    const auto concerns = [&family = *family](const QueueNews& queue) {
      if (!queue.everything) return false;
      if (queue.queue_id == 0) return true;
      if (queue.namespace_name && family.Has(*queue.namespace_name, *queue.task)) return true;
      return std::any_of(family.members.begin(), family.members.end(), [&](const auto& member) {
        return member.second.queue_id == queue.queue_id;
      });
    };
    if (news.queues.ok() && std::any_of(news.queues->begin(), news.queues->end(), concerns)) {
      ++family->changes;
    }
    if (family->round && read_done_ >= family->round_read && !news.queues.ok()) {
      family->round_error = news.queues.status();
      if (!family->listing && family->probes_open == 0) EndRound(family, family->round_error);
    } else if (family->round) {
      StepRound(family);
    } else {
      Refresh(family);
    }
  }
}

}  // namespace queen::sidecar
