#include "server/lane_belief.h"

#include <utility>

#include "base/json_writer.h"
#include "server/worker.h"

namespace queen::server {
namespace {

std::string Write(const sidecar::LaneBelief& belief, bool database_up) {
  std::string out;
  JsonWriter writer(out);
  writer.BeginObject();
  writer.Field("databaseUp", database_up);
  writer.Field("popsPaused", belief.paused);
  writer.Field("groupKnown", belief.known);
  writer.Field("ready", belief.ready);
  writer.Field("held", belief.held);
  writer.Field("leasing", belief.leasing);
  writer.Field("readyPartitions", belief.ready_partitions);
  writer.Field("waitingPops", belief.waiting_pops);
  writer.Key("lastPopSecondsAgo");
  belief.known ? writer.Int(belief.last_pop_ms_ago / 1000) : writer.Null();
  writer.EndObject();
  return out;
}

}  // namespace

void DescribeLane(const Shared& shared, Loop& here, api::LaneQuestion question,
                  api::LaneDone done) {
  const auto& owner = shared.shards.shards[shared.shards.OwnerOfQueue(question.queue)];
  owner.loop->Post([&here, sidecar = owner.sidecar, question = std::move(question),
                    done = std::move(done)]() mutable {
    here.Post(
        [text = Write(sidecar->pop().BeliefOf(question.queue, question.group, question.partition),
                      sidecar->database_up()),
         done = std::move(done)]() mutable { done(std::move(text)); });
  });
}

}  // namespace queen::server
