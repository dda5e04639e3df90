"""The judge: since when something was ready for a waiter, from what clients have seen.

A lane is one group in one partition. From replies follows a time by which it has surely become ready: a push
was answered at 3.0 and the queue's delay is 1 s, so it is ready from 4.0 on at the latest. It stays so until
somebody has it. Whoever was parked for that lane during all of that time should have been served:

    lane    ........|====== ready ======|..... taken, or not known any more
    waiter  |--|---- parked -----------------|
                    |<---- overlap ---->|      longer than the limit: a violation

While the outcome of a request is not known (an ack on its way) the lane is not judged at all.
"""

import itertools

LIMIT = 0.5  # seconds
PARKING = 0.2  # after so long a pop that found nothing is parked; judged is only who is parked
NEVER = float("inf")


class Violation(Exception):
    """A waiter was served late, or not at all."""


class Queue:
    """Its options, in seconds, and the messages of its partitions."""

    def __init__(self, name, lease=1.0, delay=0.0, window=0.0, retry_delay=0.0):
        self.name, self.namespace = name, name.split(".")[0]
        self.lease, self.delay, self.window, self.retry_delay = lease, delay, window, retry_delay
        self.partitions = {}

    def __repr__(self):
        options = {"lease": self.lease, "delay": self.delay, "window": self.window, "retryDelay": self.retry_delay}
        return f"{self.name} {({name: value for name, value in options.items() if value})}"

    def partition(self, name):
        """The one of that name, made when it is new."""
        return self.partitions.setdefault(name, Partition())


class Partition:
    """What was pushed: transactionId -> when it is visible, at the latest."""

    def __init__(self):
        self.visible = {}
        self.window_closed = 0.0  # by then, if nothing more is pushed
        self.pushing = 0


class Lane:
    """One group in one partition."""

    def __init__(self, queue, name, group):
        self.queue, self.name, self.group = queue, name, group
        self.partition = queue.partition(name)
        self.settled = set()
        self.lease, self.until = None, 0.0
        self.not_before = 0.0
        self.doubts = 0  # requests on their way that may change it

    def ready_since(self):
        """From then on it surely has something, if nothing happens; NEVER: not that we know."""
        if self.doubts or (self.queue.window and self.partition.pushing):
            return NEVER
        # The first one's time is not after that of any behind it, whatever the order of the replies.
        visible = min((at for txn, at in self.partition.visible.items() if txn not in self.settled), default=NEVER)
        return max(visible, self.not_before, self.until if self.lease else 0.0, self.partition.window_closed)

    def __repr__(self):
        return f"{self.queue}/{self.name} for {self.group}"


class Waiter:
    """A pop with `wait`, from when it was sent. queue or partition None: any (of the namespace)."""

    numbers = itertools.count(1)

    def __init__(self, now, group, namespace, queue=None, partition=None):
        self.number = next(self.numbers)
        self.since, self.group, self.namespace = now, group, namespace
        self.queue, self.partition = queue, partition

    def wants(self, lane):
        """May it be served by that lane?"""
        return (self.group == lane.group and self.namespace == lane.queue.namespace
                and self.queue in (None, lane.queue.name) and self.partition in (None, lane.name))

    def __repr__(self):
        return f"pop {self.number} of {self.queue or self.namespace}/{self.partition or '*'} by {self.group}"


class Readiness:
    """All queues, lanes and waiters. Times are the caller's, in seconds, and never go back.

    `slack(begin, end)` tells how much longer than LIMIT a waiter may have waited for reasons that are the
    machine's.
    """

    def __init__(self, slack=lambda begin, end: 0.0):
        self.lanes = {}  # by (queue, partition, group)
        self.waiters = set()
        self.slack = slack
        self.judged = 0  # waiters beside something ready, and how long the longest of them waited
        self.longest = 0.0
        self.excused = []
        self.violations = []
        self._queues = {}

    # ---- what there is

    def add_queue(self, queue, groups):
        """Its lanes come with its partitions."""
        self._queues[queue.name] = (queue, groups)

    def lane(self, queue, partition, group):
        """The lane of these names."""
        key = (queue, partition, group)
        if key not in self.lanes:
            self.lanes[key] = Lane(self._queues[queue][0], partition, group)
        return self.lanes[key]

    def lanes_of(self, queue, partition=None, group=None):
        """Those of a queue (and of one partition, of one group)."""
        owner, groups = self._queues[queue]
        return [self.lane(queue, name, of) for name in ([partition] if partition else list(owner.partitions))
                for of in ([group] if group else groups)]

    def forget(self, queue):
        """It is not used any more."""
        owner, groups = self._queues.pop(queue)
        for partition, group in itertools.product(owner.partitions, groups):
            self.lanes.pop((queue, partition, group), None)

    # ---- waiters

    def wait(self, waiter):
        """It is sent."""
        self.waiters.add(waiter)

    def end(self, waiter, now):
        """It is answered, or leaves. To be called before what it got is told."""
        for lane in self.lanes.values():
            self._judge(waiter, lane, now)
        self.waiters.discard(waiter)

    def leave(self, waiter, now):
        """Its client goes without reading the answer, which may be on its way with a lease."""
        self.end(waiter, now)
        for lane in self.lanes.values():
            if waiter.wants(lane):
                self._close(lane, now)
                lane.not_before = max(lane.not_before, now + lane.queue.lease)

    # ---- what happens to lanes

    def push_sent(self, queue, partition, now):
        """A window begins anew with it."""
        for lane in self.lanes_of(queue, partition):
            if lane.queue.window:
                self._close(lane, now)
        self._queues[queue][0].partition(partition).pushing += 1

    def pushed(self, queue, partition, txns, now):
        """It is answered."""
        owner = self._queues[queue][0]
        place = owner.partition(partition)
        place.pushing -= 1
        place.window_closed = now + owner.window if owner.window else 0.0
        place.visible.update(dict.fromkeys(txns, now + owner.delay))

    def got(self, lane, txns, lease, now):
        """A pop was answered with these messages; lease None: they are acknowledged already."""
        self._close(lane, now)
        lane.not_before = max(lane.not_before, now)
        if lease is None:  # the reply to a lease that came behind it may have been faster
            lane.settled.update(txns)
        else:
            lane.lease, lane.until = lease, now + lane.queue.lease

    def asked(self, lane, now):
        """A request that may end or extend its lease is sent."""
        self._close(lane, now)
        lane.doubts += 1

    def answered(self, lane, now, settled=(), ends=None, until=None, pause=0.0):
        """`asked` is answered: settled messages, which lease it ends, or until when it is extended."""
        lane.doubts -= 1
        lane.settled.update(settled)
        if until is not None:
            lane.until = max(lane.until, until)
        if ends is not None and lane.lease == ends:
            lane.lease = None
        lane.not_before = max(lane.not_before, now + pause)

    def sought(self, lane, now):
        """A seek to the beginning that was `asked` is answered."""
        lane.doubts -= 1
        lane.settled.clear()
        lane.lease = None
        lane.not_before = max(lane.not_before, now)

    # ---- the judgement

    def _close(self, lane, now):
        """The lane is not known to be ready any longer: who waited for it until here?"""
        for waiter in self.waiters:
            self._judge(waiter, lane, now)

    def _judge(self, waiter, lane, now):
        if not waiter.wants(lane):
            return
        begin = lane.ready_since()
        if waiter.since > begin - PARKING:
            begin = max(begin, waiter.since) + PARKING
        overlap = now - begin
        if overlap <= 0:
            return
        self.judged += 1
        slack = self.slack(begin, now) if overlap > LIMIT else 0.0
        story = (f"{waiter} waited {overlap * 1000:.0f} ms beside {lane}, which was ready "
                 f"(the machine explains {slack * 1000:.0f} ms)")
        if overlap > LIMIT + slack:
            self.violations.append(story)
        elif overlap > LIMIT:
            self.excused.append(story)
        else:
            self.longest = max(self.longest, overlap)
