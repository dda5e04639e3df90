"""What the model knows: messages by offset, and for each group its verdicts, its lease, its delays.

Time enters only through spans. Whatever ends by itself (a lease, a retryDelay) ends somewhere between
`sent + seconds` and `got + seconds` of the request that began it, so a request that overlaps this span
may see it either way.
"""

import dataclasses

MARGIN = 0.1  # seconds: clocks of the machine's processes differ, and rounding


class Violation(AssertionError):
    """A reply that the contract does not allow."""


def need(condition, words):
    """Raises Violation unless `condition`."""
    if not condition:
        raise Violation(words)


@dataclasses.dataclass
class Span:
    """Something that ends by itself, between these two."""

    ends_from: float
    ends_to: float

    def certainly_lives(self, got):
        """For a request answered at `got`."""
        return got < self.ends_from - MARGIN

    def certainly_ended(self, sent):
        """For a request sent at `sent`."""
        return sent > self.ends_to + MARGIN

    def later(self, other):
        """The end that comes last; other may be None."""
        other = other or self
        return Span(max(self.ends_from, other.ends_from), max(self.ends_to, other.ends_to))


@dataclasses.dataclass
class Lease(Span):
    """A lease on one partition for one group."""

    id: str
    offsets: list
    seconds: float
    failed: set = dataclasses.field(default_factory=set)


@dataclasses.dataclass
class Message:
    """One stored message; its offset is its place in the partition."""

    id: str
    txn: str
    payload: object
    created_at: str = None  # known once it was delivered


class Progress:
    """What one group has done with one partition."""

    def __init__(self, start):
        self.settled = set(range(start))
        self.failures = {}
        self.lease = None
        self.delay = None  # of a failed message
        self.dead = set()  # dead-lettered since the last seek
        self.letters = set()  # dead-lettered at any time

    def settle(self, offsets):
        """These are done with."""
        for offset in offsets:
            self.settled.add(offset)
            self.failures.pop(offset, None)

    def bury(self, offset):
        """This one is a dead letter."""
        self.settle([offset])
        self.dead.add(offset)
        self.letters.add(offset)

    def lease_is_done(self):
        """A lease ends when each of its messages has a verdict."""
        return self.lease is not None and all(
            offset in self.settled or offset in self.lease.failed for offset in self.lease.offsets)

    def seek(self, cursor):
        """Everything before `cursor` is passed; leases, marks and counts are gone."""
        self.settled = set(range(cursor))
        self.failures = {}
        self.lease = self.delay = None
        self.dead = set()

    def holds(self):
        """What must end before anything is delivered."""
        return [span for span in (self.lease, self.delay) if span is not None]


class Partition:
    """Messages by offset, and each group's progress."""

    def __init__(self, name):
        self.name = name
        self.id = None  # None: it does not exist yet
        self.messages = []
        self.by_txn = {}
        self.starts = {}
        self.progress = {}

    def of(self, group):
        """The group's progress here."""
        if group not in self.progress:
            self.progress[group] = Progress(self.starts.get(group, 0))
        return self.progress[group]

    def waiting(self, group):
        """Offsets that are not settled."""
        settled = self.of(group).settled
        return [offset for offset in range(len(self.messages)) if offset not in settled]

    def cursor(self, group):
        """The first offset that is not settled."""
        return min(self.waiting(group), default=len(self.messages))

    def exists_as(self, partition_id, words):
        """It has this id, now and for ever."""
        self.id = self.id or partition_id
        need(partition_id == self.id, words)
