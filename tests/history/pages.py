"""The pages of operators, compared with what the clients of a run have counted themselves.

At the end of a run everything is settled. Then the dead letters that two groups still have are pushed again and left
there, so that something waits, for one group each and among what the other does not see.
"""

import collections
import datetime
import urllib.parse

from support.process import wait_until

from .client import Client
from .events import Log, Verdict
from .redrives import Redriver
from .workload import QUEUE

WAITING = ("billing", "shipping")  # the groups whose letters are pushed again at the end, in this order
FLUSH_SECONDS_MAX = 60             # METRICS_FLUSH_INTERVAL, at most


class Expected:
    """By partition: what is stored, what waits for whom, what is a dead letter."""

    def __init__(self, log: Log, groups):
        self.groups = groups
        left = {consumed.group: log.letters_left(consumed) for consumed in groups}
        self.letters = {(group, message_id) for group, letters in left.items() if group not in WAITING
                        for message_id in letters.values()}
        self.dead = collections.Counter(partition for group, letters in left.items() if group not in WAITING
                                        for partition, _ in letters)
        self.waiting_for = {group: collections.Counter(partition for partition, _ in left[group]) for group in WAITING}
        self.waiting = sum(self.waiting_for.values(), collections.Counter())
        self.stored = collections.Counter(partition for partition, _, _ in log.stored) + self.waiting
        for copies in log.copies.values():
            self.stored.update({partition: len(offsets) for partition, offsets in copies.items()})

    def stats(self, partition=None):
        """The numbers of one partition, or of all, as the pages write them."""
        def amount(counts):
            return counts.total() if partition is None else counts[partition]
        total, pending = amount(self.stored), amount(self.waiting)
        return {"total": total, "pending": pending, "processing": 0, "completed": total - pending, "failed": 0,
                "deadLetter": amount(self.dead)}

    def lag(self, group, partition):
        """What the group has still to consume there."""
        return self.waiting_for[group][partition] if group in WAITING else 0


class Pages:
    """Asks one broker, and notes what is not as expected."""

    def __init__(self, client: Client, verdict: Verdict):
        self.client = client
        self.verdict = verdict

    def ask(self, path, method="GET"):
        """The reply."""
        status, reply = self.client.insist(method, f"/api/v1/{path}")
        assert status == 200, (method, path, status, reply)
        return reply

    def same(self, page, shown, expected):
        """Notes a difference."""
        if shown != expected:
            if isinstance(expected, dict):
                keys = [key for key in shown.keys() | expected.keys() if shown.get(key) != expected.get(key)]
                shown, expected = ({key: counts.get(key) for key in sorted(keys)} for counts in (shown, expected))
            self.verdict.count("pages", f"{page} shows {shown}, the clients counted {expected}")


def compare(plan, log, groups, pushed, began):
    """The verdict on the pages; `began`: when the run did, by the clock of the day (UTC)."""
    verdict = Verdict("pages")
    client = Client(plan.pop_from[0])
    pages = Pages(client, verdict)
    expected = Expected(log, groups)
    if not plan.faults:
        for group in WAITING:
            again = Redriver(plan.rng("pages"), client, QUEUE, [group]).bulk(group, 10_000)
            pages.same(f"the redrive of what is left of {group}", again, expected.waiting_for[group].total())
    pages.ask("stats/refresh", "POST")
    _compare_queue(pages, expected)
    _compare_groups(pages, expected)
    _compare_dead_letters(pages, expected)
    if not plan.faults:  # who is killed takes with it what it has counted last
        _compare_minutes(pages, groups, pushed, began)
    client.close()
    return verdict


def _compare_queue(pages, expected):
    totals = expected.stats()
    detail = pages.ask(f"resources/queues/{QUEUE}")
    pages.same("resources/queues/:queue", detail["totals"], totals)
    pages.same("resources/queues/:queue, partition by partition",
               {partition["name"]: partition["stats"] for partition in detail["partitions"]},
               {partition: expected.stats(partition) for partition in expected.stored})
    detail = pages.ask(f"status/queues/{QUEUE}?limit=250")
    pages.same("status/queues/:queue", detail["totals"], {"partitions": len(expected.stored), "messages": totals})
    pages.same("status/queues/:queue, partition by partition",
               {partition["name"]: partition["stats"] for partition in detail["partitions"]},
               {partition: expected.stats(partition) for partition in expected.stored})
    one, = pages.ask(f"status/queues?queue={QUEUE}")["queues"]
    pages.same("status/queues", (one["partitions"], one["messages"]), (len(expected.stored), totals))
    one, = (queue for queue in pages.ask("resources/queues")["queues"] if queue["name"] == QUEUE)
    pages.same("resources/queues", one["messages"], {key: totals[key] for key in ("total", "pending", "processing")})
    depth = pages.ask(f"resources/queues/{QUEUE}/depth")
    pages.same("resources/queues/:queue/depth", (depth["depth"], depth["partitions"]),
               (totals["pending"], len(expected.stored)))
    listed = pages.ask(f"resources/partitions?queue={QUEUE}&sort=lag&limit=1000")["partitions"]
    pages.same("resources/partitions?sort=lag", {partition["name"]: partition["stats"]["pending"] for partition in listed},
               dict(expected.waiting))


def _compare_groups(pages, expected):
    listed = {group["name"]: group for group in pages.ask("consumer-groups") if group["queueName"] == QUEUE}
    pages.same("consumer-groups", sorted(listed), sorted(consumed.group for consumed in expected.groups))
    for group in listed:
        lags = {partition: expected.lag(group, partition) for partition in expected.stored}
        pages.same(f"consumer-groups of {group}", (listed[group]["totalLag"], listed[group]["partitionsWithLag"]),
                   (sum(lags.values()), sum(lag > 0 for lag in lags.values())))
        lanes = pages.ask(f"consumer-groups/{group}")[QUEUE]["partitions"]
        pages.same(f"consumer-groups/{group}", {lane["partition"]: lane["offsetLag"] for lane in lanes}, lags)
        # By offsets: what the group does not see is behind it too.
        pages.same(f"totalConsumed of consumer-groups/{group}",
                   {lane["partition"]: lane["totalConsumed"] for lane in lanes},
                   {partition: expected.stored[partition] - lag for partition, lag in lags.items()})


def _compare_dead_letters(pages, expected):
    listed = pages.ask(f"dlq?queue={QUEUE}&limit=1000")
    pages.same("the total of dlq", listed["total"], len(expected.letters))
    letters = listed["messages"]
    while len(letters) < listed["total"]:
        more = pages.ask(f"dlq?queue={QUEUE}&limit=1000&offset={len(letters)}")["messages"]
        if not more:
            break
        letters += more
    shown = {(letter["consumerGroup"], letter["id"]) for letter in letters}
    pages.same("dlq: those that are on one side only", len(shown ^ expected.letters), 0)


def _compare_minutes(pages, groups, pushed, began):
    """The brokers write them down now and then: so they are waited for."""
    popped = sum(len(delivery.messages) for consumed in groups for delivery in consumed.deliveries)
    stored = sum(len(producer.stored) for producer in pushed)
    duplicates = sum(producer.duplicates_asked for producer in pushed)
    acked = sum(consumed.acked for consumed in groups)
    failed = sum(consumed.failed.total() for consumed in groups)
    dead = sum(len(consumed.dead) for consumed in groups)
    since = urllib.parse.quote((began - datetime.timedelta(minutes=1)).isoformat())
    done = {"pushMessages": stored, "duplicates": duplicates, "popMessages": popped, "ackMessages": acked + failed,
            "ackSuccess": acked, "ackFailed": failed, "dlqCount": dead}

    def written():
        series = pages.ask(f"analytics/queue-ops?queue={QUEUE}&from={since}")["series"]
        return {field: sum(point[field] for point in series) for field in done}
    try:
        wait_until(lambda: written() == done, FLUSH_SECONDS_MAX + 5, "the minutes", interval=0.1)
    except AssertionError:
        pages.same("analytics/queue-ops", written(), done)
    totals = pages.ask(f"status/analytics?queue={QUEUE}&from={since}")["totals"]
    pages.same("status/analytics", totals, {
        "ingested": stored, "duplicates": duplicates, "popped": popped, "completed": acked, "processed": acked + dead,
        "failed": failed, "deadLetter": dead})
