"""A model of one queue: what each reply must say, given all that were before it."""

import math

from .acks import Acks
from .state import Lease, Message, Partition, Span, need

QUEUE_MODE = "__QUEUE_MODE__"
OPTIONS = {"leaseTime": 300, "retryLimit": 3, "retryDelay": 0}  # those the model follows


class Model:
    """One queue with a fixed set of partitions."""

    def __init__(self, queue, partitions, alone=True):
        self.queue = queue
        self.alone = alone  # one broker, which knows of every push
        self.partitions = {name: Partition(name) for name in partitions}
        self.groups = set()  # those that have popped
        self.options = dict(OPTIONS)

    # ---- configure

    def configured(self, options, status, reply):
        """The reply to these options, merged into what was there."""
        words = f"configure {options}: {status} {reply}"
        need(status == 200 and reply["configured"] is True and reply["queue"] == self.queue, words)
        self.options.update(options)
        if self.options["leaseTime"] == 0:
            self.options["leaseTime"] = OPTIONS["leaseTime"]
        for name, value in self.options.items():
            need(reply["options"][name] == value, f"{words}: {name} must be {value}")
        self.partitions["Default"].exists_as(reply["partitionId"], words)

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
        need(outcome["index"] == index and outcome.get("queueName") == self.queue, words)
        known = partition.by_txn.get(txn) if txn else None
        if known is not None:
            need(outcome["status"] == "duplicate", f"{words} is stored at {known}")
            need(outcome["message_id"] == partition.messages[known].id, words)
            need(outcome["transaction_id"] == txn, words)
            return
        need(outcome["status"] == "queued", words)
        message_id = outcome["message_id"]
        need(outcome["transaction_id"] == (txn or message_id), words)
        partition.exists_as(outcome["partition_id"], words)
        if partition.messages:
            need(message_id > partition.messages[-1].id, f"{words}: ids must rise")
        partition.by_txn[outcome["transaction_id"]] = len(partition.messages)
        partition.messages.append(
            Message(message_id, outcome["transaction_id"], item.get("payload")))

    # ---- pop

    def must_deliver(self, group, partition, sent, until):
        """Whether a pop sent at `sent` that waits until `until` must bring something."""
        return any(candidate.waiting(group) and all(
            span.certainly_ended(sent) or span.certainly_ended(until)
            for span in candidate.of(group).holds()) for candidate in self._asked(partition))

    def _asked(self, partition):
        return [self.partitions[partition]] if partition else list(self.partitions.values())

    def starts(self, group, mode):
        """A pop of this group is about to be sent; its first one records where it starts."""
        if group in self.groups:
            return
        self.groups.add(group)
        if mode == "new":
            for partition in self.partitions.values():
                partition.starts[group] = len(partition.messages)

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
        for span in progress.holds():
            need(not span.certainly_lives(got), f"{words}: {name} is held by {span}")
        expected = partition.waiting(group)[:left]
        offsets = [message["offset"] for message in messages]
        # What another broker has just stored may come with the next pop; that something is there is never overlooked.
        enough = offsets if not self.alone and offsets else expected
        need(offsets == expected[:len(enough)], f"{words}: {name} must give {expected}, gave {offsets}")
        automatic = options.get("autoAck") == "true"
        need((reply["leaseId"] == "") == automatic, words)
        for message in messages:
            stored = partition.messages[message["offset"]]
            said = (message["id"], message["transactionId"], message["data"])
            need(said == (stored.id, stored.txn, stored.payload), f"{words}: {name} has {stored}")
            stored.created_at = stored.created_at or message["createdAt"]
            need(message["createdAt"] == stored.created_at, f"{words}: {name} has {stored}")
            need(message["retryCount"] == progress.failures.get(message["offset"], 0),
                 f"{words}: {name}@{message['offset']} failed {progress.failures} times")
            need(message["leaseId"] == reply["leaseId"] and message["consumerGroup"] == group
                 and message["partitionId"] == partition.id and message["queue"] == self.queue, words)
        progress.lease = progress.delay = None
        if automatic:
            progress.settle(offsets)
        else:
            seconds = options.get("leaseTime") or self.options["leaseTime"]
            progress.lease = Lease(sent + seconds, got + seconds, reply["leaseId"], offsets, seconds)
        return len(offsets)

    # ---- ack

    def acked(self, items, status, reply, sent, got):
        """The reply to acks: each item a dict as sent, with consumerGroup always there."""
        need(status == 200 and len(reply) == len(items), f"ack: {status} {reply}")
        delay = self.options["retryDelay"] / 1000
        call = Acks(self, sent, got, Span(sent + delay, got + delay) if delay else None)
        for index, (item, outcome) in enumerate(zip(items, reply)):
            call.judge(index, item, outcome, f"ack {item} in {items}: {outcome}")
        call.apply()

    def place_of(self, item):
        """(partition, offset) an ack is about; None for what is not there."""
        for partition in self.partitions.values():
            if partition.id and partition.id == item["partitionId"]:
                return partition, partition.by_txn.get(item["transactionId"])
        return None, None

    def hides_its_effect(self, item, now):
        """Whether this ack, sent now, would be answered alike whether or not it has an effect: a
        settled message is success:true whatever became of the lease, though a cumulative ack of it
        settles others only while that lives."""
        partition, offset = self.place_of(item)
        if offset is None or not item.get("cumulative"):
            return False
        progress = partition.of(item["consumerGroup"])
        lease = progress.lease
        ours = lease is not None and item.get("leaseId") in (None, lease.id)
        return (ours and offset in progress.settled and not lease.certainly_ended(now)
                and not lease.certainly_lives(now + 20))

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

    # ---- seek

    def sought(self, group, name, target, status, reply):
        """The reply to a seek of the queue (name None) or of one partition; target as sent."""
        words = f"seek of {name or 'all'} for {group} to {target}: {status} {reply}"
        need(status == 200 and reply["success"] is True and reply["queueName"] == self.queue
             and reply["consumerGroup"] == group, words)
        need(reply["seekToEnd"] is ("timestamp" not in target and "offset" not in target), words)
        moved = [place for place in self._asked(name) if place.id and group in self.groups]
        need(reply["partitionsUpdated"] == len(moved), f"{words}: {len(moved)} are there")
        for place in moved:
            place.of(group).seek(self._cursor(place, target))

    @staticmethod
    def _cursor(place, target):
        end = len(place.messages)
        if "offset" in target:
            return min(target["offset"], end)
        if "timestamp" in target:  # that of a message of this partition
            return 1 + [message.created_at for message in place.messages].index(target["timestamp"])
        return end

    # ---- dead letters

    def listed(self, group, status, reply, letters):
        """The last reply to the list of a group's dead letters, and the letters of all pages."""
        need(status == 200, f"dlq: {status} {reply}")
        said = {(letter["partition"], letter["transactionId"]) for letter in letters}
        known = {(place.name, place.messages[offset].txn) for place in self.partitions.values()
                 for offset in place.of(group).letters}
        need(said == known and len(known) == reply["total"] == len(letters),
             f"dlq of {group}: missing {known - said}, too many {said - known}, {reply['total']}")

    # ---- for the driver

    def next_end(self, now):
        """When the next lease or delay has certainly ended, or infinity."""
        ends = [span.ends_to + 0.11 for partition in self.partitions.values()
                for progress in partition.progress.values() for span in progress.holds()]
        return min((end for end in ends if end > now), default=math.inf)
