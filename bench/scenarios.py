"""The scenarios of `make bench`: how each is run, and what of its result is held against a limit.

A scenario is a call of `queen bench`, with a full and a short size. A target reads one number from the
results; those marked `ratio` compare two numbers of the same run and decide, also in `make bench-smoke`;
the others are absolute and depend on the machine.
"""
import statistics
from dataclasses import dataclass
from typing import Callable


@dataclass(frozen=True)
class Scenario:
    name: str
    title: str
    full: str
    smoke: str = ""  # empty: left out of the short run


SCENARIOS = [
    Scenario("push-100", "push, batch 100, 32 connections, 100 partitions",
             "push --connections 32 --batch 100 --partitions 100 --warmup 3 --seconds 20",
             "push --connections 32 --batch 100 --partitions 100 --warmup 1 --seconds 6"),
    Scenario("push-1", "push, batch 1, 64 connections",
             "push --connections 64 --batch 1 --partitions 100 --warmup 3 --seconds 20",
             "push --connections 64 --batch 1 --partitions 100 --warmup 1 --seconds 5"),
    Scenario("drain", "pop 100 + ack, 16 connections, backlog in 100 partitions",
             "drain --fill 1000000 --connections 16 --batch 100",
             "drain --fill 400000 --connections 16 --batch 100"),
    Scenario("push-and-drain", "push and drain at once, batch 100",
             "drain --with-push --fill 20000 --warmup 3 --seconds 30",
             "drain --with-push --fill 20000 --warmup 1 --seconds 5"),
    Scenario("popwave", "500 pops of 500 partitions, all at once",
             "popwave --pops 500 --rounds 20", "popwave --pops 500 --rounds 5"),
    Scenario("e2e", "end to end, 1,000 msg/s, long poll, 100 partitions",
             "e2e --rate 1000 --seconds 20 --partitions 100", "e2e --rate 1000 --seconds 5 --partitions 100"),
    Scenario("idle", "end to end, idle queue, one message at a time",
             "e2e --idle --messages 500", "e2e --idle --messages 100"),
    Scenario("groups-1", "one consumer group of 16 consumers",
             "drain --fill 200000 --groups 1 --connections 16", "drain --fill 100000 --groups 1 --connections 16"),
    Scenario("groups-10", "10 consumer groups on one queue, of 16 consumers each",
             "drain --fill 100000 --groups 10 --connections 160", "drain --fill 40000 --groups 10 --connections 160"),
    Scenario("partitions", "wildcard pop + ack, by number of partitions",
             "partitions --counts 100,10000,100000,1000000", "partitions --counts 100,10000 --operations 2000"),
    Scenario("old-transaction", "one REPEATABLE READ transaction open for 10 minutes under load",
             "soak --rate 20000 --seconds 600 --interval 60 --hold-transaction"),
]

# For the plots: the same load in growing sizes.
LOAD_CONNECTIONS = [1, 2, 4, 8, 16, 32, 64]
LOAD = "push --connections {} --batch 100 --partitions 100 --warmup 1 --seconds 6"
SPREAD_PARTITIONS = [1, 10, 100, 1000, 10000]
SPREAD = "push --connections 32 --batch 100 --partitions {} --warmup 1 --seconds 6"


def row(result, name=None):
    """The named row of a result of `queen bench`, or its first."""
    return next(r for r in result["rows"] if name is None or r["name"].strip() == name)


def rate(results, name):
    return row(results[name])["messages_per_second"]


def latency_ms(results, name, percentile, of=None):
    return row(results[name], of)["latency_us"][percentile] / 1000


def spent(results, name, what, of=None):
    return row(results[name], of)["spent"][what]


def cpu_us(results):
    """Processor time of broker and PostgreSQL for one message pushed, popped and acked."""
    total = 0
    for name in ("push-100", "drain"):
        total += spent(results, name, "broker_cpu_seconds_per_million")
        total += spent(results, name, "postgres_cpu_seconds_per_million")
    return total


def partitions_rows(results):
    """Of pop + ack, one for each number of partitions, in that order."""
    return [r for r in results["partitions"]["rows"] if r["name"].endswith(" partitions")]


def partitions_p99(results):
    """p99 of pop + ack at the largest number of partitions over that at the smallest."""
    rows = partitions_rows(results)
    return rows[-1]["latency_us"]["p99"] / rows[0]["latency_us"]["p99"]


def soak_change(results, path):
    """The last three minutes over the first three, by their medians: one minute says little, syncs come and go."""
    series = [path(point) for point in results["old-transaction"]["series"]]
    return statistics.median(series[-3:]) / statistics.median(series[:3])


@dataclass(frozen=True)
class Target:
    scenario: str
    text: str
    value: Callable[[dict], float]
    limit: float
    at_least: bool  # else at most
    ratio: bool = False

    def met(self, value):
        return value >= self.limit if self.at_least else value <= self.limit


TARGETS = [
    Target("push-100", "push, batch 100: msg/s", lambda r: rate(r, "push-100"), 150_000, True),
    Target("push-100", "push, batch 100: share of the raw procedure",
           lambda r: rate(r, "push-100") / r["raw"]["push"]["messagesPerSecond"], 0.35, True, True),
    Target("push-1", "push, batch 1: msg/s", lambda r: rate(r, "push-1"), 20_000, True),
    Target("push-1", "push, batch 1: p99 ms", lambda r: latency_ms(r, "push-1", "p99"), 15, False),
    Target("drain", "pop 100 + ack: msg/s", lambda r: rate(r, "drain"), 120_000, True),
    # The reference leases and acks 100 partitions in one call; sixteen consumers ask for one each.
    Target("drain", "pop 100 + ack: share of the raw procedures",
           lambda r: rate(r, "drain") / r["raw"]["drain"]["messagesPerSecond"], 0.12, True, True),
    Target("push-and-drain", "push and drain at once: msg/s each way",
           lambda r: row(r["push-and-drain"], "both")["messages_per_second"], 60_000, True),
    Target("drain", "processor us per message, push 100 + pop 100 + ack", cpu_us, 20, False),
    Target("popwave", "500 pops of 500 partitions: p50 ms",
           lambda r: latency_ms(r, "popwave", "p50"), 60, False),
    Target("e2e", "end to end, 1,000 msg/s: p50 ms", lambda r: latency_ms(r, "e2e", "p50"), 5, False),
    Target("e2e", "end to end, 1,000 msg/s: p99 ms", lambda r: latency_ms(r, "e2e", "p99"), 20, False),
    Target("idle", "end to end, idle: p50 ms", lambda r: latency_ms(r, "idle", "p50"), 4, False),
    Target("partitions", "wildcard pop + ack: p99 at most partitions / at 100",
           partitions_p99, 2, False, True),
    Target("partitions", "broker RSS at most partitions: MB",
           lambda r: partitions_rows(r)[-1]["spent"]["broker_peak_rss_bytes"] / 1e6, 1000, False),
    Target("groups-10", "PostgreSQL per delivery, 10 groups / 1 group",
           lambda r: spent(r, "groups-10", "postgres_cpu_seconds_per_million")
           / spent(r, "groups-1", "postgres_cpu_seconds_per_million"), 1, False, True),
    Target("old-transaction", "one old transaction: throughput, last three minutes / first three",
           lambda r: soak_change(r, lambda p: p["received_per_second"]), 0.9, True, True),
    Target("old-transaction", "one old transaction: p99, last three minutes / first three",
           lambda r: soak_change(r, lambda p: p["delivery_us"]["p99"]), 1.1, False, True),
    Target("push-100", "broker RSS at peak push: MB",
           lambda r: spent(r, "push-100", "broker_peak_rss_bytes") / 1e6, 150, False),
]
