"""What the clients of a run record, and what must hold of it (pure: no broker is needed to check).

Times are of the monotonic clock, which all processes of a machine share.
"""

import collections
import dataclasses


@dataclasses.dataclass
class Pushed:
    """What one producer was answered."""

    producer: int
    # (partition, sequence) -> message id
    stored: dict = dataclasses.field(default_factory=dict)
    duplicates_asked: int = 0
    # Answers that are wrong by themselves: a text each.
    wrong: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Delivery:
    """What one pop brought from one partition."""

    partition: str
    asked: float  # the pop was sent
    got: float    # its reply was read
    patient: bool  # a lease far longer than the run, so that it cannot have run out
    ended: float = 0.0  # when the request that ended the lease was sent; 0: it was left to expire
    # (offset, message id, producer, sequence, retryCount)
    messages: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Consumed:
    """What the consumers of one group saw."""

    group: str
    deliveries: list = dataclasses.field(default_factory=list)
    # (partition, offset) -> when the reply to its successful completed ack was read
    completed: dict = dataclasses.field(default_factory=dict)
    # (partition, offset) -> how often a failed verdict on it was accepted
    failed: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    wrong: list = dataclasses.field(default_factory=list)


COUNTS = ("lost", "duplicated", "reordered", "redelivered", "gaps", "double_leased", "miscounted",
          "wrong")


class Verdict:
    """Counts of violations of one group, with the first few of each in words."""

    def __init__(self, name):
        self.name = name
        self.counts = dict.fromkeys(COUNTS, 0)
        self.words = []

    def count(self, what, words):
        """One violation."""
        self.counts[what] += 1
        if self.counts[what] <= 5:
            self.words.append(f"{self.name} {what}: {words}")

    def __bool__(self):
        """Whether nothing was violated."""
        return not any(self.counts.values())


def check_pushes(pushed):
    """The answers to the producers."""
    verdict = Verdict("producers")
    for producer in pushed:
        for words in producer.wrong:
            verdict.count("wrong", words)
    ids = collections.Counter(i for producer in pushed for i in producer.stored.values())
    for message_id, count in ids.items():
        if count > 1:
            verdict.count("duplicated", f"{count} messages were given the id {message_id}")
    return verdict


def check_group(pushed, consumed):
    """What one group saw, against all that was pushed."""
    verdict = Verdict(consumed.group)
    for words in consumed.wrong:
        verdict.count("wrong", words)
    expected = {}
    for producer in pushed:
        for (partition, sequence), message_id in producer.stored.items():
            expected[partition, producer.producer, sequence] = message_id
    by_partition = collections.defaultdict(list)
    for delivery in sorted(consumed.deliveries, key=lambda delivery: delivery.got):
        by_partition[delivery.partition].append(delivery)
    done = set()
    for partition, deliveries in by_partition.items():
        _check_partition(partition, deliveries, expected, consumed, verdict, done)
    for key, message_id in expected.items():
        if key not in done:
            verdict.count("lost", f"{key} {message_id} was not completed")
    return verdict


def _check_partition(partition, deliveries, expected, consumed, verdict, done):
    at = {}  # offset -> (id, producer, sequence)
    first_seen = -1
    for delivery in deliveries:
        previous = -1
        for offset, message_id, producer, sequence, retries in delivery.messages:
            key = (partition, producer, sequence)
            where = f"{partition}@{offset} {message_id}"
            if offset <= previous:
                verdict.count("reordered", f"{where} stands after {previous} in one delivery")
            previous = offset
            what = (message_id, producer, sequence)
            if at.setdefault(offset, what) != what:
                verdict.count("reordered", f"{where} was {at[offset]} before")
            if expected.get(key) != message_id:
                verdict.count("duplicated", f"{where} is {key}, stored as {expected.get(key)}")
            if (partition, offset) in consumed.completed:
                done.add(key)
                answered = consumed.completed[partition, offset]
                after = delivery.got if delivery.patient else delivery.asked
                if after > answered:
                    verdict.count("redelivered", f"{where}, completed {after - answered:.3f} s before")
            if retries > consumed.failed[partition, offset]:
                verdict.count("miscounted", f"{where} has retryCount {retries}")
    for delivery in deliveries:
        fresh = [message[0] for message in delivery.messages if message[0] > first_seen]
        if fresh and fresh != list(range(first_seen + 1, first_seen + 1 + len(fresh))):
            late = delivery.got - delivery.asked
            # A reply that was long under way may be overtaken by the next lease on the partition.
            if delivery.patient or late < 0.5:
                verdict.count("reordered", f"{partition}@{fresh[0]} came first after {first_seen}")
        if fresh:
            first_seen = max(first_seen, fresh[-1])
    if sorted(at) != list(range(len(at))):
        missing = sorted(set(range(max(at) + 1)) - set(at))
        verdict.count("gaps", f"{partition} has no offsets {missing[:5]}")
    last = {}
    for offset in sorted(at):
        _, producer, sequence = at[offset]
        if last.get(producer, -1) >= sequence:
            verdict.count("reordered", f"{partition}@{offset}: producer {producer} sent {sequence} "
                          f"before {last[producer]}")
        last[producer] = sequence
    held = [delivery for delivery in deliveries if delivery.patient]
    for one, next_one in zip(held, held[1:]):
        if next_one.got < one.ended:
            verdict.count("double_leased", f"{partition}@{next_one.messages[0][0]} while "
                          f"@{one.messages[0][0]} was held")
