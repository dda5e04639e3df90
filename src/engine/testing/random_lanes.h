// Random lanes whose times and offsets lie on the edges of the rules.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/lease_rule.h"
#include "engine/testing/lanes.h"
#include "engine/verdict_rule.h"

namespace queen::engine {

enum class Fate { kLives, kBlanked, kRemoved };

struct StoredSegment {
  SegmentSpan span;
  int64_t padding = 0;
  Fate fate = Fate::kLives;
};

struct HiddenRange {
  int64_t from = 0;
  int64_t to = 0;
  int32_t only_group = 0;
};

// One queue with one partition and one group, all with the id `id`.
struct RandomLane {
  int32_t id = 0;
  QueueRules rules;
  std::optional<bool> retention_enabled;
  int64_t retention_seconds = 0;
  int64_t max_wait_seconds = 0;
  std::vector<StoredSegment> segments;
  std::vector<HiddenRange> hidden;
  Progress progress;
  LeaseRequest request;
  Verdicts verdicts;
  int64_t from = 0;  // of the LogView

  int64_t end() const { return segments.empty() ? 0 : segments.back().span.end(); }
};

// Makes lanes whose times and offsets lie on the edges of the rules.
class LaneMaker {
 public:
  LaneMaker(uint64_t seed, int64_t now) : random_(seed), now_(now) {}

  RandomLane Make(int32_t id) {
    RandomLane lane;
    lane.id = id;
    MakeRules(lane);
    MakeSegments(lane);
    MakeHidden(lane);
    if (Chance(80)) {
      MakeProgress(lane);
    } else if (Chance(50)) {
      lane.progress.cursor = Between(0, lane.end() + 1);
    }
    lane.from = Chance(50) ? 0 : Between(0, lane.progress.cursor);
    return lane;
  }

  void MakeRequest(RandomLane& lane, int64_t bytes_max) {
    const bool same = lane.progress.lease && Chance(30);
    lane.request = {.lease_id = same ? lane.progress.lease->id : NewId(),
                    .seconds = static_cast<int32_t>(Chance(50) ? 0 : 7),
                    .auto_ack = Chance(30),
                    .messages_left = Chance(10) ? 20'000 : Between(1, 20),
                    .bytes_left = bytes_max,
                    .bytes_max = bytes_max};
  }

  // A living lease, and verdicts on and about it.
  void MakeVerdicts(RandomLane& lane) {
    Progress& progress = lane.progress;
    progress.epoch = std::max<int64_t>(progress.epoch, 1);
    if (!progress.lease) progress.lease = MakeLease(progress);
    progress.lease->until_micros = now_ + Between(1, 3);
    const int64_t span = progress.lease->end - progress.cursor;
    Verdicts& verdicts = lane.verdicts;
    verdicts.base = progress.cursor + (Chance(5) ? int64_t{1} << 42 : Between(-5, span + 2));
    verdicts.base = std::max<int64_t>(verdicts.base, 0);
    if (Chance(70)) verdicts.done = MakeBitmap(Between(0, span + 8), Between(20, 100));
    for (int64_t i = Chance(50) ? 0 : Between(1, 6); i > 0; --i) {
      verdicts.singles.push_back({.seq = progress.cursor + Between(-1, span + 1),
                                  .kind = static_cast<VerdictKind>(Between(0, 4)),
                                  .error = Chance(50) ? "first" : "second"});
    }
    verdicts.lease_after = static_cast<LeaseAfter>(Between(0, 2));
  }

  bool Chance(int64_t percent) { return Between(1, 100) <= percent; }
  int64_t Between(int64_t low, int64_t high) { return RandomBetween(random_, low, high); }

 private:
  Uuid NewId() { return Uuid::FromHalves(random_(), random_()); }
  // Now, a microsecond beside it, or seconds away.
  int64_t NearNow() {
    return now_ + (Chance(60) ? Between(-1, 1) : Between(-20, 20) * kTestSecond);
  }

  Bitmap MakeBitmap(int64_t length, int64_t percent) {
    Bitmap bitmap;
    for (int64_t i = 0; i < length; ++i) {
      if (Chance(percent)) bitmap.Set(i);
    }
    return bitmap;
  }

  void MakeRules(RandomLane& lane) {
    lane.rules = {.lease_seconds = 30,
                  .retry_limit = static_cast<int32_t>(Between(0, 3)),
                  .retry_delay_ms = static_cast<int32_t>(Chance(50) ? 0 : 1'500),
                  .max_deliveries = static_cast<int32_t>(Chance(50) ? 0 : Between(1, 3)),
                  .delay_seconds = Chance(70) ? 0 : Between(1, 20),
                  .window_seconds = Chance(70) ? 0 : Between(1, 20)};
    if (Chance(50)) lane.retention_enabled = Chance(50);
    lane.retention_seconds = Chance(70) ? 0 : Between(5, 20);
    lane.max_wait_seconds = Chance(70) ? 0 : Between(5, 20);
    int64_t& expires = lane.rules.expires_after_seconds;
    expires = lane.max_wait_seconds;
    if (lane.retention_enabled.value_or(true) && lane.retention_seconds > 0) {
      expires = expires > 0 ? std::min(expires, lane.retention_seconds) : lane.retention_seconds;
    }
  }

  // One of the ages at which a rule of the lane begins to hold, in microseconds.
  int64_t EdgeOf(const RandomLane& lane) {
    const std::vector<int64_t> ages = {lane.rules.delay_seconds, lane.rules.window_seconds,
                                       lane.rules.expires_after_seconds, 3, 30};
    return ages[static_cast<size_t>(Between(0, 4))] * kTestSecond;
  }

  void MakeSegments(RandomLane& lane) {
    const int64_t count = Chance(5) ? 0 : Between(1, 6);
    const bool large = Chance(3);
    int64_t seq = 0;
    for (int64_t i = 0; i < count; ++i) {
      StoredSegment segment;
      segment.span.base_seq = seq;
      segment.span.count = static_cast<int32_t>(large ? Between(3'000, 6'000) : Between(1, 8));
      segment.padding = Between(0, 40);
      segment.span.bytes = 3 * segment.span.count - 1 + segment.padding;
      segment.fate = Chance(70) ? Fate::kLives : Chance(50) ? Fate::kBlanked : Fate::kRemoved;
      if (i + 1 == count && segment.fate == Fate::kRemoved) segment.fate = Fate::kLives;
      seq = segment.span.end();
      lane.segments.push_back(segment);
    }
    SetTimes(lane);
  }

  // One segment lies on an edge; the others before and behind it in rising order.
  void SetTimes(RandomLane& lane) {
    if (lane.segments.empty()) return;
    const auto place = static_cast<size_t>(Between(0, std::ssize(lane.segments) - 1));
    const auto gap = [this] { return Chance(50) ? Between(0, 2) : Between(1, 10) * kTestSecond; };
    auto& segments = lane.segments;
    segments[place].span.created_micros =
        now_ - EdgeOf(lane) - Between(-2, segments[place].span.count + 1);
    for (size_t i = place; i-- > 0;) {
      segments[i].span.created_micros =
          segments[i + 1].span.created_micros - segments[i].span.count - gap();
    }
    for (size_t i = place + 1; i < segments.size(); ++i) {
      segments[i].span.created_micros =
          segments[i - 1].span.created_micros + segments[i - 1].span.count + gap();
    }
  }

  void MakeHidden(RandomLane& lane) {
    if (Chance(60)) return;
    int64_t from = Between(0, 10);
    for (int64_t i = Between(1, 4); i > 0; --i) {
      const int64_t to = from + (lane.end() > 1'000 ? Between(1, 12'000) : Between(1, 6));
      const int32_t groups[] = {0, lane.id, lane.id + 1};
      lane.hidden.push_back({from, to, groups[Between(0, 2)]});
      from = to + Between(0, 5);
    }
  }

  Lease MakeLease(const Progress& progress) {
    const int64_t reach = progress.settled.From(1'000).empty() ? 12 : 10'000;
    return {NewId(), NearNow(), progress.cursor + Between(1, reach), 30};
  }

  void MakeProgress(RandomLane& lane) {
    Progress& progress = lane.progress;
    progress.epoch = Between(1, 9);
    progress.cursor =
        Chance(50) || lane.segments.empty()
            ? Between(0, lane.end() + 1)
            : lane.segments[static_cast<size_t>(Between(0, std::ssize(lane.segments) - 1))]
                  .span.base_seq;
    const bool long_span = lane.end() > 1'000 && Chance(30);
    if (Chance(60)) {
      progress.settled =
          MakeBitmap(long_span ? Between(1, 9'999) : Between(1, 16), Between(20, 95));
    }
    progress.settled.Clear(0);
    progress.deliveries = static_cast<int32_t>(Between(0, 3));
    if (Chance(60)) {
      progress.lease = MakeLease(progress);
      progress.failed =
          MakeBitmap(std::min<int64_t>(progress.lease->end - progress.cursor, 12), 15);
      progress.failed -= progress.settled;
    }
    for (int64_t place = 0; place < 12; ++place) {
      if (Chance(10) && !progress.settled.Get(place)) {
        progress.attempts.push_back({progress.cursor + place, static_cast<int32_t>(Between(1, 3))});
      }
    }
    if (Chance(25)) progress.ready_at_micros = NearNow();
    if (Chance(40)) progress.window_end = Between(0, lane.end());
  }

  std::mt19937_64 random_;
  const int64_t now_;
};

// What a load would know of the lane's log.
inline LogView ViewOf(const RandomLane& lane) {
  LogView log;
  log.from = lane.from;
  log.known_end = log.end = lane.end();
  for (const StoredSegment& segment : lane.segments) {
    log.newest_micros = segment.span.created_micros + segment.span.count - 1;
    if (segment.fate != Fate::kLives) continue;
    log.live_end = segment.span.end();
    if (segment.span.end() > log.from) log.segments.push_back(segment.span);
  }
  for (const HiddenRange& range : lane.hidden) {
    if (range.only_group == lane.id || range.to <= log.from) continue;
    log.hidden.SetRange(std::max(range.from, log.from) - log.from, range.to - log.from);
  }
  return log;
}

// For the traces of failures, and as PostgreSQL reads it.
inline std::string ArrayOf(const std::vector<Attempt>& attempts, bool failures) {
  std::string text = "{";
  for (const Attempt& attempt : attempts) {
    text.append(text.size() > 1 ? "," : "")
        .append(std::to_string(failures ? attempt.failures : attempt.seq));
  }
  return text + "}";
}

inline std::string Describe(const Progress& progress) {
  std::string text = "epoch " + std::to_string(progress.epoch) + " cursor " +
                     std::to_string(progress.cursor) + " settled " + progress.settled.ToText() +
                     " failed " + progress.failed.ToText() + " attempts " +
                     ArrayOf(progress.attempts, false) + ArrayOf(progress.attempts, true) +
                     " deliveries " + std::to_string(progress.deliveries);
  if (progress.lease) {
    text += " lease " + progress.lease->id.ToString() + " until " +
            std::to_string(progress.lease->until_micros) + " end " +
            std::to_string(progress.lease->end) + " seconds " +
            std::to_string(progress.lease->seconds);
  }
  if (progress.ready_at_micros) text += " ready " + std::to_string(*progress.ready_at_micros);
  if (progress.window_end) text += " window " + std::to_string(*progress.window_end);
  return text;
}

inline std::string Describe(const RandomLane& lane) {
  const QueueRules& rules = lane.rules;
  std::string text = "lane " + std::to_string(lane.id) + ": " + Describe(lane.progress);
  for (const auto& [name, value] :
       std::map<std::string, int64_t>{{"retryLimit", rules.retry_limit},
                                      {"maxDeliveries", rules.max_deliveries},
                                      {"delay", rules.delay_seconds},
                                      {"window", rules.window_seconds},
                                      {"expires", rules.expires_after_seconds}}) {
    text += " " + name + " " + std::to_string(value);
  }
  for (const StoredSegment& segment : lane.segments) {
    constexpr const char* kFates[] = {"lives", "blanked", "removed"};
    text += "\n  segment " + std::to_string(segment.span.base_seq) + " to " +
            std::to_string(segment.span.end()) + " at " +
            std::to_string(segment.span.created_micros) + " of " +
            std::to_string(segment.span.bytes) + " bytes " + kFates[static_cast<int>(segment.fate)];
  }
  for (const HiddenRange& range : lane.hidden) {
    text += "\n  hidden " + std::to_string(range.from) + " to " + std::to_string(range.to) +
            " but for " + std::to_string(range.only_group);
  }
  return text;
}

inline std::string DescribeVerdicts(const RandomLane& lane) {
  std::string text = "\n  completed from " + std::to_string(lane.verdicts.base) + ": " +
                     lane.verdicts.done.ToText() + ", lease after " +
                     std::to_string(static_cast<int>(lane.verdicts.lease_after));
  for (const SingleVerdict& single : lane.verdicts.singles) {
    text += "\n  verdict " + std::to_string(static_cast<int>(single.kind)) + " on " +
            std::to_string(single.seq) + " " + std::string(single.error);
  }
  return text;
}

}  // namespace queen::engine
