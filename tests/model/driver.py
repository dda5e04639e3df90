"""The driver: many clients, one request at a time, each reply given to the model."""

import random
import time

from history.client import Client, uuid7
from .model import QUEUE_MODE, Model
from .state import Violation

GROUPS = {QUEUE_MODE: "all", "billing": "all", "late/ly": "new"}  # and where they start
PARTITIONS = ("a", "b/b", "Default", "\u00e9t\u00e9")
CLIENTS = 3  # connections to each broker, so that its workers take turns


def encoded(name):
    """A name as part of a path."""
    return "".join(f"%{byte:02X}" for byte in name.encode())


class Driver:
    """`client` is anything with `request` of history.client.Client."""

    def __init__(self, addresses, seed, client=None):
        self.rng = random.Random(seed)
        self.clients = client and [client] or [Client(address) for address in addresses
                                               for _ in range(CLIENTS)]
        self.queue = f"model.{seed}"
        self.model = Model(self.queue, PARTITIONS, alone=len(addresses) <= 1)
        self.leases = []  # (lease id, group, messages), newest last
        self.delivered = []  # (group, message) of any time
        self.steps = 0
        self.journal = []

    def run(self, seconds, drain=True):
        """Random steps for so long, then everything is consumed."""
        end = time.monotonic() + seconds
        often = (self.push,) * 5 + (self.pop,) * 8 + (self.ack,) * 9 + (self.extend, self.pause)
        seldom = (self.seek, self.configure, self.configure)
        while time.monotonic() < end:
            self.step(self.rng.choice(often if self.rng.random() < 0.97 else seldom))
        if drain:
            for group in GROUPS:
                self.drain(group)

    def step(self, action, *args):
        """One request; a violation is told with what led to it."""
        self.steps += 1
        try:
            action(*args)
        except Violation as violation:
            recent = "\n".join(self.journal[-25:])
            raise Violation(f"step {self.steps}: {violation}\nbefore it:\n{recent}") from None

    def send(self, method, path, body=None):
        """(status, reply, sent, got)."""
        sent = time.monotonic()
        status, reply = self.rng.choice(self.clients).request(method, path, body)
        got = time.monotonic()
        self.journal.append(f"{sent:.3f} {method} {path} {body} -> {got:.3f} {status} {str(reply)[:700]}")
        return status, reply, sent, got

    # ---- push

    def push(self):
        """A few items, some of them known already."""
        items = []
        for _ in range(self.rng.choice((1, 1, 2, 3, 8))):
            item = {"queue": self.queue, "partition": self.rng.choice(PARTITIONS),
                    "payload": {"n": self.rng.getrandbits(30)}}
            txn = self._transaction_id(items)
            if txn:
                item["transactionId"] = txn
            items.append(item)
        status, reply, _, _ = self.send("POST", "/api/v1/push", {"items": items})
        self.model.pushed(items, status, reply)

    def _transaction_id(self, items):
        kind = self.rng.random()
        if kind < 0.3:
            return None
        if kind < 0.5:
            return uuid7(self.rng)
        if kind < 0.6:
            return uuid7(self.rng, time.time_ns() // 10**6 + self.rng.randint(-10**7, 10**7))
        if kind < 0.7:  # of any partition: in another one it is new
            known = [txn for place in self.model.partitions.values() for txn in place.by_txn]
            return self.rng.choice(known) if known else "first"
        if kind < 0.75 and items:
            return self.rng.choice(items).get("transactionId")
        return f"t-{self.rng.getrandbits(40)}\u00fc'\""

    # ---- pop

    def pop(self):
        """Of one partition or of any, in all ways."""
        group = self.rng.choice(list(GROUPS))
        partition = self.rng.choice(PARTITIONS) if self.rng.random() < 0.4 else None
        options = {"batch": self.rng.choice((1, 2, 3, 5, 20))}
        if self.rng.random() < 0.8 or self.model.options["leaseTime"] > 60:
            options["leaseTime"] = self.rng.choice((1, 1, 1, 60))
        if not partition and self.rng.random() < 0.5:
            options["partitions"] = self.rng.randint(2, 4)
        if self.rng.random() < 0.1:
            options["autoAck"] = "true"
        if self.rng.random() < 0.015:
            options.update(wait="true", timeout=2000, settled_within=0.3)
        self._pop(group, partition, options)

    def _pop(self, group, partition, options):
        query = "&".join(f"{name}={value}" for name, value in options.items()
                         if name != "settled_within")
        if group != QUEUE_MODE:
            query += f"&consumerGroup={encoded(group)}&subscriptionMode={GROUPS[group]}"
        path = f"/api/v1/pop/queue/{self.queue}"
        if partition:
            path += f"/partition/{encoded(partition)}"
        self.model.starts(group, GROUPS[group])
        status, reply, sent, got = self.send("GET", f"{path}?{query}")
        lease = self.model.popped(group, partition, options, status, reply, sent, got)
        if lease:
            self.leases.append((lease, group, reply["messages"]))
        if status == 200:
            self.delivered += [(group, message) for message in reply["messages"]]
        return status, reply

    # ---- ack

    def ack(self):
        """Verdicts on a lease, mostly a recent one, or on anything ever delivered."""
        if not self.leases:
            return
        if self.rng.random() < 0.15:
            chosen = [self.rng.choice(self.delivered) for _ in range(self.rng.randint(1, 4))]
            items = [self._item(group, message, message["leaseId"] or None)
                     for group, message in chosen]
        else:
            lease, group, messages = self.rng.choice(self.leases[-6:])
            count = len(messages) if self.rng.random() < 0.5 else self.rng.randint(1, len(messages))
            named = None if self.rng.random() < 0.1 else lease
            items = [self._item(group, message, named)
                     for message in self.rng.sample(messages, count)]
            if self.rng.random() < 0.1:
                items.append(self._item(group, self.rng.choice(messages), lease))
        verdict = self.rng.random()
        for item in items:
            if verdict < 0.2:
                item["status"] = "failed"
            elif verdict < 0.45:
                item["status"] = self.rng.choice(("completed", "success", "failed", "failed", "dlq"))
        some = self.rng.choice(items)
        if verdict > 0.95 and len({item["transactionId"] for item in items}) == len(items):
            some["status"] = "retry"
        if verdict > 0.8 and ("status" not in some or self.rng.random() < 0.5):
            some["cumulative"] = True
        if any(self.model.hides_its_effect(item, time.monotonic()) for item in items):
            del some["cumulative"]
        self._ack(items)

    def _item(self, group, message, lease):
        item = {"transactionId": message["transactionId"], "partitionId": message["partitionId"],
                "consumerGroup": group}
        if lease:
            item["leaseId"] = lease
        if self.rng.random() < 0.02:
            item["leaseId"] = uuid7(self.rng)
        if self.rng.random() < 0.01:
            item["transactionId"] = "nobody's"
        return item

    def _ack(self, items):
        if len(items) == 1 and self.rng.random() < 0.5:
            result = self.send("POST", "/api/v1/ack", items[0])
        else:
            result = self.send("POST", "/api/v1/ack/batch", {"acknowledgments": items})
        self.model.acked(items, *result)

    # ---- leases

    def extend(self):
        """Of a recent lease, or of one that never was."""
        if not self.leases:
            return
        lease = self.rng.choice(self.leases[-4:])[0]
        if self.rng.random() < 0.1:
            lease = uuid7(self.rng)
        seconds = self.rng.choice((None, 1, 2, 2))
        body = None if seconds is None else {"seconds": seconds}
        status, reply, sent, got = self.send("POST", f"/api/v1/lease/{lease}/extend", body)
        self.model.extended(lease, seconds, status, reply, sent, got)

    def pause(self):
        """Now and then until the next lease has run out."""
        now = time.monotonic()
        if self.rng.random() < 0.2 and (wait := self.model.next_end(now) - now) < 2.5:
            time.sleep(wait)

    # ---- administration

    def seek(self):
        """A group on the queue or on one partition, to the end, an offset or behind a message."""
        group = self.rng.choice(list(GROUPS))
        name = self.rng.choice((None, *PARTITIONS))
        target = self.rng.choice(({"toEnd": True}, {"offset": self.rng.randint(0, 60)}))
        path = f"/api/v1/consumer-groups/{encoded(group)}/queues/{self.queue}"
        if name:
            path += f"/partitions/{encoded(name)}"
            known = [message.created_at for message in self.model.partitions[name].messages
                     if message.created_at]
            if known and self.rng.random() < 0.5:
                target = {"timestamp": self.rng.choice(known)}
        status, reply, _, _ = self.send("POST", f"{path}/seek", target)
        self.model.sought(group, name, target, status, reply)

    def configure(self):
        """One option of those the model follows."""
        name, values = self.rng.choice((("leaseTime", (1, 2, 60)), ("retryLimit", (0, 1, 3)),
                                        ("retryDelay", (0, 0, 300))))
        options = {name: self.rng.choice(values)}
        status, reply, _, _ = self.send("POST", "/api/v1/configure",
                                        {"queue": self.queue, "options": options})
        self.model.configured(options, status, reply)

    # ---- the end

    def drain(self, group):
        """Takes and completes all that is left; afterwards there must be nothing."""
        give_up = time.monotonic() + 200
        while any(place.waiting(group) for place in self.model.partitions.values()):
            if time.monotonic() > give_up:
                raise Violation(f"{group} is not drained")
            self.step(self._drain_some, group)
        self.step(self._pop, group, None, {"batch": 10, "leaseTime": 1})
        self.step(self._letters, group)

    def _letters(self, group):
        letters = []
        while True:
            status, reply, _, _ = self.send(
                "GET", f"/api/v1/dlq?queue={self.queue}&consumerGroup={encoded(group)}&limit=1000"
                       f"&offset={len(letters)}")
            letters += reply["messages"] if status == 200 else []
            if status != 200 or not reply["messages"]:
                self.model.listed(group, status, reply, letters)
                return

    def _drain_some(self, group):
        options = {"batch": 1000, "leaseTime": 60, "partitions": 4, "wait": "true", "timeout": 3000,
                   "settled_within": 1.5}
        status, reply = self._pop(group, None, options)
        if status == 200:
            self._ack([{"transactionId": message["transactionId"],
                        "partitionId": message["partitionId"], "consumerGroup": group,
                        "leaseId": message["leaseId"]} for message in reply["messages"]])
            return
        # Held by long leases of clients that have gone: they come back, and finish.
        for place in self.model.partitions.values():
            lease = place.of(group).lease
            if lease and place.waiting(group):
                self._ack([{"transactionId": place.messages[offset].txn, "partitionId": place.id,
                            "consumerGroup": group, "leaseId": lease.id}
                           for offset in lease.offsets])
