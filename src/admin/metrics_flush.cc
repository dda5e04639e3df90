#include "admin/metrics_flush.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "storage/procedures.h"

namespace queen::admin {

MetricsFlush::MetricsFlush(AdminPool& pool, BrokerName name, int64_t interval_ms,
                           GatherSample gather)
    : pool_(pool),
      book_(std::move(name)),
      interval_ms_(interval_ms),
      gather_(std::move(gather)),
      timer_(pool.loop(), [this] { OnTimer(); }),
      give_up_(pool.loop(), [this] { End(); }) {}

void MetricsFlush::Start() {
  pool_.loop().AssertOwner();
  started_ = true;
  Write();  // nothing yet: only to learn what time it is
}

int64_t MetricsFlush::NowMicros() const { return SteadyMicros() + *clock_lead_micros_; }

void MetricsFlush::OnTimer() {
  if (!clock_lead_micros_) return Write();
  Look();
}

void MetricsFlush::Look() {
  if (looking_) return;
  looking_ = true;
  gather_([this, alive = std::weak_ptr<char>(alive_)](const BrokerSample& sample) {
    if (!alive.expired()) OnSample(sample);
  });
}

void MetricsFlush::OnSample(const BrokerSample& sample) {
  looking_ = false;
  const int64_t now = NowMicros();
  // What is new has happened since the last look, which was in this minute or at its beginning.
  const size_t given_up = book_.Take(std::exchange(looked_micros_, now), now, sample);
  if (given_up > 0) {
    log::WarnRarely("PostgreSQL is away for so long that metrics of old minutes are given up",
                    {{"minutes", given_up}});
  }
  // The look under way when the end came may have missed what was done last.
  if (finished_ && !std::exchange(last_look_, true)) return Look();
  Write();
  ScheduleNext();
}

void MetricsFlush::Write() {
  if (writing_) return;
  writing_ = true;
  MinuteBook::Rows rows = book_.Write();
  pg::Params params(2);
  params.Jsonb(rows.brokers).Jsonb(rows.queues);
  pool_.Execute(pool_.loop(), {storage::kFlushMinutes, std::move(params)},
                [this, flush = rows.flush,
                 alive = std::weak_ptr<char>(alive_)](const pg::BatchResult& result) {
                  if (!alive.expired()) OnWritten(flush, result);
                });
}

void MetricsFlush::OnWritten(int64_t flush, const pg::BatchResult& result) {
  writing_ = false;
  if (result.ok()) {
    book_.Confirm(flush);
    clock_lead_micros_ = result.rows[0].TimestampTz(0, 0) - SteadyMicros();
    if (looked_micros_ == 0) looked_micros_ = NowMicros();
  } else if (!finished_) {
    log::Debug("metrics were not written", {{"error", result.status.ToString()}});
  }
  if (finished_ && !looking_) {
    const bool is_more = result.ok() && !book_.Write().empty();
    return is_more ? Write() : End();
  }
  if (!timer_.IsActive()) ScheduleNext();
}

void MetricsFlush::ScheduleNext() {
  if (finished_) return;
  if (!clock_lead_micros_) return timer_.Start(kRetryMs);
  const int64_t into_minute_ms = NowMicros() % MinuteBook::kMinuteMicros / 1'000;
  const int64_t minute_ms = MinuteBook::kMinuteMicros / 1'000;
  timer_.Start(std::min(interval_ms_, minute_ms - into_minute_ms + 1));
}

void MetricsFlush::Finish(UniqueFunction<void()> done) {
  pool_.loop().AssertOwner();
  if (!started_ || !clock_lead_micros_) return done();
  finished_ = std::move(done);
  timer_.Stop();
  give_up_.Start(kLastWriteMs);
  last_look_ = !looking_;
  Look();
}

void MetricsFlush::End() {
  give_up_.Stop();
  timer_.Stop();
  if (finished_) std::exchange(finished_, nullptr)();
}

}  // namespace queen::admin
