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
    # (partition, offset) -> when the reply was read that made it a dead letter; it is not in completed
    dead: dict = dataclasses.field(default_factory=dict)
    # (partition, offset) -> how often a failed verdict on it was accepted
    failed: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    acked: int = 0     # completed verdicts that were accepted, those on what was settled before too
    redriven: int = 0  # dead letters that were pushed again
    wrong: list = dataclasses.field(default_factory=list)

    def settle(self, place, answered, dead=False):
        """The answer to a verdict on (partition, offset); True when it is the first that settles it. An ack of
        what is settled succeeds too, and changes nothing: the one that made a dead letter is the true one."""
        first = place not in self.completed and place not in self.dead
        if dead:
            self.completed.pop(place, None)
            self.dead[place] = answered
        elif first:
            self.completed[place] = answered
        return first


COUNTS = ("lost", "duplicated", "reordered", "redelivered", "gaps", "double_leased", "miscounted",
          "wrong", "pages")


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


class Log:
    """What was pushed, and what stands where in the partitions as the groups have seen it.

    A dead letter that was pushed again is a new message, a copy, with the payload of the first and an id of its own,
    and only the group in which it died sees it.
    """

    def __init__(self, pushed, groups):
        # (partition, producer, sequence) -> message id
        self.stored = {(partition, producer.producer, sequence): message_id for producer in pushed
                       for (partition, sequence), message_id in producer.stored.items()}
        self.copies = {consumed.group: self._copies(consumed) for consumed in groups}

    def _copies(self, consumed):
        copies = collections.defaultdict(set)  # partition -> offsets
        for delivery in consumed.deliveries:
            for offset, message_id, producer, sequence, _ in delivery.messages:
                if self.stored.get((delivery.partition, producer, sequence)) != message_id:
                    copies[delivery.partition].add(offset)
        return copies

    def hidden(self, group, partition):
        """The offsets that the group does not see: copies for others."""
        others = (copies[partition] for name, copies in self.copies.items() if name != group and partition in copies)
        return set().union(*others) - self.copies[group].get(partition, set())

    def letters_left(self, consumed):
        """(partition, offset) -> message id of the dead letters of a group that were not pushed again."""
        seen = {}
        for delivery in consumed.deliveries:
            for offset, message_id, producer, sequence, _ in delivery.messages:
                seen[delivery.partition, offset] = message_id, (delivery.partition, producer, sequence)
        deaths = collections.defaultdict(list)
        for place in consumed.dead:
            deaths[seen[place][1]].append(place)
        copies = collections.Counter(seen[partition, offset][1]
                                     for partition, offsets in self.copies[consumed.group].items() for offset in offsets)
        # Each death but the last was followed by the copy that died next.
        return {max(places): seen[max(places)][0] for key, places in deaths.items() if len(places) > copies[key]}


def check_group(log, consumed):
    """What one group saw, against all that was pushed."""
    verdict = Verdict(consumed.group)
    for words in consumed.wrong:
        verdict.count("wrong", words)
    by_partition = collections.defaultdict(list)
    for delivery in sorted(consumed.deliveries, key=lambda delivery: delivery.got):
        by_partition[delivery.partition].append(delivery)
    done = set()
    for partition, deliveries in by_partition.items():
        _check_partition(partition, deliveries, log, consumed, verdict, done)
    for key, message_id in log.stored.items():
        if key not in done:
            verdict.count("lost", f"{key} {message_id} was not settled")
    copies = sum(map(len, log.copies[consumed.group].values()))
    if copies < consumed.redriven:
        verdict.count("lost", f"{consumed.redriven} dead letters were pushed again, and {copies} came back")
    return verdict


def _check_partition(partition, deliveries, log, consumed, verdict, done):
    at = {}  # offset -> (id, producer, sequence)
    for delivery in deliveries:
        previous = -1
        for offset, message_id, producer, sequence, retries in delivery.messages:
            where = f"{partition}@{offset} {message_id}"
            if offset <= previous:
                verdict.count("reordered", f"{where} stands after {previous} in one delivery")
            previous = offset
            what = (message_id, producer, sequence)
            if at.setdefault(offset, what) != what:
                verdict.count("reordered", f"{where} was {at[offset]} before")
            answered = consumed.completed.get((partition, offset)) or consumed.dead.get((partition, offset))
            after = delivery.got if delivery.patient else delivery.asked
            if answered and after > answered:
                verdict.count("redelivered", f"{where}, settled {after - answered:.3f} s before")
            if retries > consumed.failed[partition, offset]:
                verdict.count("miscounted", f"{where} has retryCount {retries}")
    hidden = log.hidden(consumed.group, partition)
    _check_copies(partition, at, log, consumed, verdict, done)
    _check_order(partition, at, log, hidden, verdict)
    _check_first_deliveries(partition, deliveries, hidden, verdict)
    held = [delivery for delivery in deliveries if delivery.patient]
    for one, next_one in zip(held, held[1:]):
        if next_one.got < one.ended:
            verdict.count("double_leased", f"{partition}@{next_one.messages[0][0]} while "
                          f"@{one.messages[0][0]} was held")


def _check_copies(partition, at, log, consumed, verdict, done):
    """Everything is settled; a message is there once, and once more each time it was a dead letter."""
    deaths = collections.Counter(what[1:] for offset, what in at.items() if (partition, offset) in consumed.dead)
    copies = collections.Counter()
    for offset, (message_id, *key) in sorted(at.items()):
        where = f"{partition}@{offset} {message_id}"
        settled = (partition, offset) in consumed.completed or (partition, offset) in consumed.dead
        original = log.stored.get((partition, *key))
        if message_id == original:
            if settled:
                done.add((partition, *key))
            continue
        copies[tuple(key)] += 1
        if copies[tuple(key)] > deaths[tuple(key)]:
            verdict.count("duplicated", f"{where} is {key}, stored as {original} and dead {deaths[tuple(key)]} times")
        if not settled:
            verdict.count("lost", f"{where}, pushed again, was not settled")


def _check_order(partition, at, log, hidden, verdict):
    """No offset is missing, and those of each producer are in the order in which it pushed."""
    offsets = sorted(at.keys() | hidden)
    if offsets != list(range(len(offsets))):
        missing = sorted(set(range(max(offsets) + 1)) - set(offsets))
        verdict.count("gaps", f"{partition} has no offsets {missing[:5]}")
    last = {}
    for offset in sorted(at):
        message_id, producer, sequence = at[offset]
        if log.stored.get((partition, producer, sequence)) != message_id:
            continue
        if last.get(producer, -1) >= sequence:
            verdict.count("reordered", f"{partition}@{offset}: producer {producer} sent {sequence} "
                          f"before {last[producer]}")
        last[producer] = sequence


def _check_first_deliveries(partition, deliveries, hidden, verdict):
    """What is delivered for the first time follows what was, without a gap."""
    first_seen = -1
    for delivery in deliveries:
        fresh = [message[0] for message in delivery.messages if message[0] > first_seen]
        if not fresh:
            continue
        if fresh != [offset for offset in range(first_seen + 1, fresh[-1] + 1) if offset not in hidden]:
            late = delivery.got - delivery.asked
            # A reply that was long under way may be overtaken by the next lease on the partition.
            if delivery.patient or late < 0.5:
                verdict.count("reordered", f"{partition}@{fresh[0]} came first after {first_seen}")
        first_seen = max(first_seen, fresh[-1])
