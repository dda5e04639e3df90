"""One call of acks against the model: judged by what was before it, applied as a whole, `retry` last."""

import dataclasses

from .state import MARGIN, Progress, need


@dataclasses.dataclass
class Counted:
    """An item that the reply says was under the lease."""

    key: tuple  # partition, group
    offset: int
    item: dict
    outcome: dict
    words: str
    settled_before: bool  # then only what it says of the messages before it counts


class Acks:
    """Made with the model as it was before the call; `delay` is what a failure now entails, or None."""

    def __init__(self, model, sent, got, delay):
        self.model = model
        self.sent = sent
        self.got = got
        self.delay = delay
        self.before = {}  # key -> settled, lease
        self.named = {}  # key -> leases
        self.counted = []

    def judge(self, index, item, outcome, words):
        """Whether the outcome is allowed; nothing is applied yet."""
        need(outcome["index"] == index and outcome["transactionId"] == item["transactionId"], words)
        partition, offset = self.model.place_of(item)
        if offset is None:
            need(outcome["success"] is False and outcome["error"] == "Message not found", words)
            return
        need(outcome["queueName"] == self.model.queue and outcome["partitionName"] == partition.name,
             words)
        key = (partition.name, item["consumerGroup"])
        progress = self._progress(key)
        settled, lease = self.before.setdefault(key, (set(progress.settled), progress.lease))
        self.named.setdefault(key, set()).add(item.get("leaseId"))
        ours = lease is not None and item.get("leaseId") in (None, lease.id)
        counted = Counted(key, offset, item, outcome, words, offset in settled)
        if offset in settled:
            need(outcome["success"] is True and outcome["error"] is None
                 and outcome["dlq"] is False, f"{words}: settled already")
            if item.get("cumulative") and ours and not lease.certainly_ended(self.sent):
                need(lease.certainly_lives(self.got), f"{words}: nobody can tell: {lease}")
                self.counted.append(counted)
            return
        ours = ours and offset in lease.offsets
        if outcome["success"]:
            need(ours and not lease.certainly_ended(self.sent), f"{words}: not under a lease: {lease}")
            need(outcome["error"] is None, words)
            self.counted.append(counted)
            return
        need(outcome["error"] == "Invalid or expired lease" and outcome["dlq"] is False, words)
        need(not ours or not lease.certainly_lives(self.got), f"{words}: the lease lives: {lease}")
        if ours:
            lease.ends_to = min(lease.ends_to, self.got - MARGIN - 1e-6)  # it has ended
            lease.ends_from = min(lease.ends_from, lease.ends_to)

    def apply(self):
        """The effects of what was counted."""
        cursors = {key: self.model.partitions[key[0]].cursor(key[1]) for key in self.before}
        handed_back = set()
        for counted in self.counted:
            if self._verdict(counted):
                handed_back.add(counted.key)
        ended = set()
        for key in {counted.key for counted in self.counted}:
            progress = self._progress(key)
            if progress.lease_is_done() or key in handed_back:
                progress.lease = None
                ended.add(key)
        for counted in self.counted:
            released = counted.key in ended and not (
                counted.settled_before and counted.offset < cursors[counted.key])
            said = counted.outcome["leaseReleased"]
            if len(self.named[counted.key] - {None}) > 1:  # judged in turn, and only the last ends it
                need(released or not said, f"{counted.words}: the lease lives")
            else:
                need(said is released, f"{counted.words}: leaseReleased is {released}")

    def _progress(self, key) -> Progress:
        return self.model.partitions[key[0]].of(key[1])

    def _verdict(self, counted):
        """Applies one; True when it hands the rest of the lease back."""
        progress = self._progress(counted.key)
        lease, offset, item = progress.lease, counted.offset, counted.item
        status = item.get("status", "completed")
        if item.get("cumulative"):
            progress.settle(o for o in lease.offsets if o < offset and o not in lease.failed)
        if counted.settled_before:
            return False
        if offset in progress.settled or offset in lease.failed:  # the first verdict won
            need(counted.outcome["dlq"] in (False, offset in progress.dead), counted.words)
            return False
        if status == "retry":
            need(counted.outcome["dlq"] is False, counted.words)
            return True
        count = progress.failures.get(offset, 0) + 1
        dead = status == "dlq" or status == "failed" and count > self.model.options["retryLimit"]
        if dead:
            progress.bury(offset)
        elif status == "failed":
            progress.failures[offset] = count
            lease.failed.add(offset)
            if self.delay:
                progress.delay = self.delay.later(progress.delay)
        else:
            progress.settle([offset])
        need(counted.outcome["dlq"] is dead,
             f"{counted.words}: dlq must be {dead}: {progress.failures}")
        return False
