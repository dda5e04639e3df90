"""A model of one queue: what each reply must say, given all that were before it.

Time enters only through leases. One ends somewhere between `sent + seconds` and `got + seconds` of
the pop that took it, so a request that overlaps this span may see it either way, and the reply tells
which it was.
"""

import dataclasses
import math

RETRY_LIMIT = 3
MARGIN = 0.1  # seconds: clocks of the machine's processes differ, and rounding
QUEUE_MODE = "__QUEUE_MODE__"


class Violation(AssertionError):
    """A reply that the contract does not allow."""


def need(condition, words):
    """Raises Violation unless `condition`."""
    if not condition:
        raise Violation(words)


@dataclasses.dataclass
class Message:
    """One stored message; its offset is its place in the partition."""

    id: str
    txn: str
    payload: object


@dataclasses.dataclass
class Lease:
    """A lease on one partition for one group."""

    id: str
    offsets: list
    seconds: float
    ends_from: float  # it ends between these two
    ends_to: float
    failed: set = dataclasses.field(default_factory=set)

    def certainly_lives(self, got):
        """For a request answered at `got`."""
        return got < self.ends_from - MARGIN

    def certainly_ended(self, sent):
        """For a request sent at `sent`."""
        return sent > self.ends_to + MARGIN


class Progress:
    """What one group has done with one partition."""

    def __init__(self):
        self.settled = set()
        self.failures = {}
        self.lease = None
        self.dead = []

    def finish_lease_if_done(self):
        """A lease ends when each of its messages has a verdict."""
        lease = self.lease
        if lease and all(o in self.settled or o in lease.failed for o in lease.offsets):
            self.lease = None
            return True
        return False


class Partition:
    """Messages by offset, and each group's progress."""

    def __init__(self, name):
        self.name = name
        self.id = None
        self.messages = []
        self.by_txn = {}
        self.progress = {}

    def of(self, group):
        """The group's progress here."""
        return self.progress.setdefault(group, Progress())

    def waiting(self, group):
        """Offsets that are not settled."""
        settled = self.of(group).settled
        return [offset for offset in range(len(self.messages)) if offset not in settled]


class Model:
    """One queue with a fixed set of partitions."""

    def __init__(self, queue, partitions):
        self.queue = queue
        self.partitions = {name: Partition(name) for name in partitions}

    # ---- push

    def pushed(self, items, status, reply):
        """The reply to a push of these items."""
        need(status == 201 and len(reply) == len(items), f"push: {status} {reply}")
        for index, (item, outcome) in enumerate(zip(items, reply)):
            self._one_pushed(index, item, outcome)

    def _one_pushed(self, index, item, outcome):
        partition = self.partitions[item["partition"]]
        txn = item.get("transactionId")
        words = f"push of {item}: {outcome}"
        need(outcome["index"] == index and outcome["queueName"] == self.queue, words)
        known = partition.by_txn.get(txn) if txn else None
        if known is not None:
            need(outcome["status"] == "duplicate", f"{words} is stored at {known}")
            need(outcome["message_id"] == partition.messages[known].id, words)
            need(outcome["transaction_id"] == txn, words)
            return
        need(outcome["status"] == "queued", words)
        message_id = outcome["message_id"]
        need(outcome["transaction_id"] == (txn or message_id), words)
        partition.id = partition.id or outcome["partition_id"]
        need(outcome["partition_id"] == partition.id, words)
        if partition.messages:
            need(message_id > partition.messages[-1].id, f"{words}: ids must rise")
        partition.by_txn[outcome["transaction_id"]] = len(partition.messages)
        partition.messages.append(
            Message(message_id, outcome["transaction_id"], item.get("payload")))

    # ---- pop

    def _may_be_taken(self, partition, group, sent):
        """Something is there, and no lease that certainly lives is on it."""
        return bool(partition.waiting(group)) and not self._held(partition, group, sent)

    @staticmethod
    def _held(partition, group, got):
        lease = partition.of(group).lease
        return lease is not None and lease.certainly_lives(got)

    def must_deliver(self, group, partition, sent, until):
        """Whether a pop sent at `sent` that waits until `until` must bring something."""
        for candidate in self._asked(partition):
            lease = candidate.of(group).lease
            if candidate.waiting(group) and (lease is None or lease.certainly_ended(sent)
                                             or lease.ends_to + MARGIN < until):
                return True
        return False

    def _asked(self, partition):
        return [self.partitions[partition]] if partition else list(self.partitions.values())

    def popped(self, group, partition, options, status, reply, sent, got):
        """The reply to a pop; returns its lease id, or None when there is none."""
        words = f"pop of {partition or 'any'} for {group} {options}: {status} {str(reply)[:1500]}"
        if status == 204:
            until = sent + options.get("settled_within", 0)
            need(not self.must_deliver(group, partition, sent, until), f"{words}: not empty")
            return None
        need(status == 200 and reply["success"] is True, words)
        need(reply["queue"] == self.queue and reply["consumerGroup"] == group, words)
        by_partition = {}
        for message in reply["messages"]:
            by_partition.setdefault(message["partition"], []).append(message)
        need(1 <= len(by_partition) <= options.get("partitions", 1), f"{words}: too many partitions")
        need(reply["partitionsClaimed"] == len(by_partition), words)
        need(reply["partition"] == reply["messages"][0]["partition"], words)
        need(partition in (None, *by_partition), f"{words}: another partition")
        left = options["batch"]
        for name, messages in by_partition.items():
            left -= self._delivered(name, group, messages, left, options, reply, sent, got, words)
        return reply["leaseId"] or None

    def _delivered(self, name, group, messages, left, options, reply, sent, got, words):
        partition = self.partitions[name]
        progress = partition.of(group)
        need(not self._held(partition, group, got), f"{words}: {name} is leased to {progress.lease}")
        expected = partition.waiting(group)[:left]
        offsets = [message["offset"] for message in messages]
        need(offsets == expected, f"{words}: {name} must give {expected}, gave {offsets}")
        automatic = options.get("autoAck") == "true"
        need((reply["leaseId"] == "") == automatic, words)
        for message in messages:
            stored = partition.messages[message["offset"]]
            said = (message["id"], message["transactionId"], message["data"])
            need(said == (stored.id, stored.txn, stored.payload), f"{words}: {name} has {stored}")
            need(message["retryCount"] == progress.failures.get(message["offset"], 0),
                 f"{words}: {name}@{message['offset']} failed {progress.failures} times")
            need(message["leaseId"] == reply["leaseId"] and message["consumerGroup"] == group
                 and message["partitionId"] == partition.id and message["queue"] == self.queue, words)
        progress.lease = None
        if automatic:
            progress.settled.update(offsets)
            for offset in offsets:
                progress.failures.pop(offset, None)
        else:
            seconds = options["leaseTime"]
            progress.lease = Lease(reply["leaseId"], offsets, seconds, sent + seconds, got + seconds)
        return len(offsets)

    # ---- ack

    def acked(self, items, status, reply, sent, got):
        """The reply to acks: each item a dict as sent, with consumerGroup always there."""
        need(status == 200 and len(reply) == len(items), f"ack: {status} {reply}")
        places = {name.id: name for name in self.partitions.values() if name.id}
        before = {}  # (partition, group) -> settled, lease as they stood at the start
        accepted = []
        for index, (item, outcome) in enumerate(zip(items, reply)):
            words = f"ack {item} in {items}: {outcome}"
            need(outcome["index"] == index and outcome["transactionId"] == item["transactionId"],
                 words)
            partition = places.get(item["partitionId"])
            offset = partition.by_txn.get(item["transactionId"]) if partition else None
            if offset is None:
                need(outcome["success"] is False and outcome["error"] == "Message not found", words)
                continue
            need(outcome["queueName"] == self.queue and outcome["partitionName"] == partition.name,
                 words)
            group = item["consumerGroup"]
            progress = partition.of(group)
            settled, lease = before.setdefault((partition.name, group),
                                               (set(progress.settled), progress.lease))
            if offset in settled:
                need(outcome["success"] is True and outcome["error"] is None
                     and outcome["dlq"] is False, f"{words}: settled already")
                continue
            self._judge(item, outcome, offset, lease, progress, sent, got, words)
            if outcome["success"]:
                accepted.append((partition, group, offset, item, outcome, words))
        leases = {}
        for item in items:
            key = (item["partitionId"], item["consumerGroup"])
            leases.setdefault(key, set()).add(item.get("leaseId"))
        self._apply(accepted, {key for key, named in leases.items() if len(named - {None}) > 1})

    @staticmethod
    def _judge(item, outcome, offset, lease, progress, sent, got, words):
        """Whether the lease allows a verdict; a reply decides what time leaves open."""
        named = item.get("leaseId")
        ours = lease is not None and named in (None, lease.id) and offset in lease.offsets
        if outcome["success"]:
            need(ours and not lease.certainly_ended(sent), f"{words}: not under a lease: {lease}")
            need(outcome["error"] is None, words)
            return
        need(outcome["error"] == "Invalid or expired lease" and outcome["dlq"] is False, words)
        need(not ours or not lease.certainly_lives(got), f"{words}: the lease lives: {lease}")
        if ours and progress.lease is lease:
            lease.ends_to = min(lease.ends_to, got - MARGIN - 1e-6)  # it has ended
            lease.ends_from = min(lease.ends_from, lease.ends_to)

    def _apply(self, accepted, mixed):
        """The effects of the accepted verdicts, `retry` last. `mixed`: several leases were named."""
        touched = {}
        handed_back = []
        for partition, group, offset, item, outcome, words in accepted:
            progress = partition.of(group)
            lease = progress.lease
            touched[partition.name, group] = progress
            verdict = item.get("status", "completed")
            dead = False
            if offset in progress.settled or offset in lease.failed:
                dead = offset in progress.dead  # the first verdict won, and this tells of it
                need(outcome["dlq"] in (False, dead), words)
                continue
            if verdict == "retry":
                handed_back.append(progress)
            elif verdict == "failed":
                count = progress.failures.get(offset, 0) + 1
                if count > RETRY_LIMIT:
                    dead = True
                else:
                    progress.failures[offset] = count
                    lease.failed.add(offset)
            elif verdict == "dlq":
                dead = True
            if item.get("cumulative"):
                self._settle(progress, [o for o in lease.offsets
                                        if o <= offset and o not in lease.failed])
            if verdict in ("completed", "success") or dead:
                self._settle(progress, [offset])
            if dead:
                progress.dead.append(offset)
            need(outcome["dlq"] is dead, f"{words}: dlq must be {dead}: {progress.failures}")
        ended = set()
        for key, progress in touched.items():
            if progress.finish_lease_if_done():
                ended.add(key)
            elif any(progress is other for other in handed_back):
                progress.lease = None
                ended.add(key)
        for partition, group, _, _, outcome, words in accepted:
            released = (partition.name, group) in ended
            if (partition.id, group) in mixed:  # they are judged in turn, and only the last ends it
                need(released or not outcome["leaseReleased"], f"{words}: the lease lives")
            else:
                need(outcome["leaseReleased"] is released, f"{words}: leaseReleased is {released}")

    @staticmethod
    def _settle(progress, offsets):
        for offset in offsets:
            progress.settled.add(offset)
            progress.failures.pop(offset, None)

    # ---- extend

    def extended(self, lease_id, seconds, status, reply, sent, got):
        """The reply to an extension; seconds None = the default."""
        words = f"extend {lease_id} by {seconds}: {status} {reply}"
        held = [progress.lease for partition in self.partitions.values()
                for progress in partition.progress.values()
                if progress.lease and progress.lease.id == lease_id]
        if status == 404:
            need(not any(lease.certainly_lives(got) for lease in held), f"{words}: it lives: {held}")
            need(reply["success"] is False
                 and reply["error"] in ("Lease not found", "Lease already expired"), words)
            return
        need(status == 200 and reply["success"] is True and reply["leaseId"] == lease_id, words)
        living = [lease for lease in held if not lease.certainly_ended(sent)]
        need(living, f"{words}: no such lease")
        for lease in living:
            longer = max(60, lease.seconds) if seconds is None else seconds
            sure = lease.certainly_lives(got) or len(living) == 1
            if sure:
                lease.ends_from = max(lease.ends_from, sent + longer)
            lease.ends_to = max(lease.ends_to, got + longer)

    # ---- for the driver

    def next_end(self, now):
        """When the next short lease has certainly ended, or infinity."""
        ends = [progress.lease.ends_to + MARGIN for partition in self.partitions.values()
                for progress in partition.progress.values() if progress.lease]
        return min((end for end in ends if end > now), default=math.inf)
