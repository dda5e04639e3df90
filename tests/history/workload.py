"""Producers and consumers of a run: processes of a few threads, each thread a client.

Every choice comes from the seed; what the machine makes of it (who is served first) does not.
"""

import collections
import multiprocessing
import os
import random
import threading
import time
import traceback

from .client import Client, Unanswered, uuid7
from .events import Consumed, Delivery, Pushed
from .progress import Progress
from .redrives import Redriver

QUEUE = "history.orders"
GROUPS = (None, "billing", "shipping")  # None: queue mode
QUEUE_MODE = "__QUEUE_MODE__"  # its name on the pages
PATIENT_SECONDS = 300
SHORT_SECONDS = 1
FAULT_SECONDS = 3
HOT_SHARE = 0.6
STALL_SECONDS = 20
BACKLOG = 5_000
LOST_LEASE = "Invalid or expired lease"


class Plan:
    """What a run is made of."""

    def __init__(self, messages=200_000, producers=4, consumers=3, hot=4, cold=200, seed=0,
                 push_to=(), pop_from=(), faults=False, batch=400, rate=None):
        # None: for as long as `during` of run() takes. Then the backlog is bounded, because all of it
        # is consumed at the end.
        self.messages = messages
        self.rate = rate  # most messages a second, of all producers
        self.progress = Progress(GROUPS)
        self.producers = producers
        self.consumers = consumers  # per group
        self.partitions_hot = [f"hot-{i}" for i in range(hot)]
        self.partitions_cold = [f"cold-{i}" for i in range(cold)]
        self.seed = seed
        self.push_to = list(push_to)    # addresses
        self.pop_from = list(pop_from)
        # Something is killed meanwhile: every push has an id, so that it may be repeated; leases are
        # short, because replies are lost; nobody fails a message, because an ack is repeated too, and so nobody
        # pushes dead letters again.
        self.faults = faults
        self.batch = batch

    def rng(self, *role):
        """The random choices of one role."""
        return random.Random("/".join(str(part) for part in (self.seed, *role)))


# ---- producers


class Producer:
    """One sequence per partition; remembers some of what it stored, to push it again."""

    def __init__(self, plan, number):
        self.plan = plan
        self.rng = plan.rng("producer", number)
        self.client = Client(plan.push_to[number % len(plan.push_to)])
        self.pushed = Pushed(number)
        self.next = {}
        self.past = []  # (partition, transactionId, message id, sequence)

    def run(self, count):
        """Pushes `count` messages (None: until the run is over), in order within each partition."""
        while count is None or count > 0:
            batch = self.rng.choice((1, 10, self.plan.batch, self.plan.batch))
            if count is None:
                if not self._may_go_on():
                    return
            else:
                batch = min(count, batch)
                count -= batch
            began = time.monotonic()
            self._push(batch)
            Progress.add(self.plan.progress.pushed, batch)
            if self.plan.rate:
                share = batch * self.plan.producers / self.plan.rate
                self.plan.progress.over.wait(max(0.0, began + share - time.monotonic()))

    def _may_go_on(self):
        progress = self.plan.progress
        while not progress.over.is_set():
            if progress.pushed.value - progress.done() < BACKLOG:
                return True
            progress.over.wait(0.01)
        return False

    def _push(self, count):
        items = []
        asks = []  # per item: (partition, sequence), and the id it must be a duplicate of or None
        chosen = self.rng.sample(self.plan.partitions_cold, min(8, len(self.plan.partitions_cold)))
        for _ in range(count):
            hot = self.rng.random() < HOT_SHARE
            partition = self.rng.choice(self.plan.partitions_hot if hot else chosen)
            sequence = self.next.get(partition, 0)
            self.next[partition] = sequence + 1
            txn = self._transaction_id()
            items.append(self._item(partition, sequence, txn))
            asks.append((partition, sequence, None))
            if txn and self.rng.random() < 0.005:  # twice in one call
                items.append(self._item(partition, sequence, txn))
                asks.append((partition, sequence, "twin"))
        for partition, txn, message_id, sequence in self._some_of_the_past():
            place = self.rng.randrange(len(items) + 1)
            items.insert(place, self._item(partition, sequence, txn))
            asks.insert(place, (partition, sequence, message_id))
        repeat = self.client.insist if self.plan.faults else self.client.request
        status, outcomes = repeat("POST", "/api/v1/push", {"items": items})
        while self.plan.faults and status == 201 and \
                any(outcome["status"] == "buffered" for outcome in outcomes):
            time.sleep(0.05)  # until it is replayed, and its id can be told
            status, outcomes = repeat("POST", "/api/v1/push", {"items": items})
        if status != 201 or len(outcomes) != len(items):
            raise AssertionError(f"push of {len(items)} items: {status} {str(outcomes)[:500]}")
        for index, (item, ask, outcome) in enumerate(zip(items, asks, outcomes)):
            self._judge(index, item, ask, outcome)

    def _judge(self, index, item, ask, outcome):
        partition, sequence, duplicate_of = ask
        wrong = self.pushed.wrong
        if outcome.get("index") != index or outcome.get("status") not in ("queued", "duplicate"):
            wrong.append(f"push of {item}: {outcome}")
            return
        message_id = outcome["message_id"]
        if item.get("transactionId", outcome["transaction_id"]) != outcome["transaction_id"]:
            wrong.append(f"push of {item}: {outcome}")
        if duplicate_of is None:
            # After a fault a push is repeated, and then it may be its own duplicate.
            if outcome["status"] != "queued" and not self.plan.faults:
                wrong.append(f"{item} was new: {outcome}")
            self.pushed.stored[partition, sequence] = message_id
            if self.rng.random() < 0.02:
                self.past.append((partition, outcome["transaction_id"], message_id, sequence))
            return
        self.pushed.duplicates_asked += 1
        stored = self.pushed.stored[partition, sequence] if duplicate_of == "twin" else duplicate_of
        if outcome["status"] != "duplicate" or message_id != stored:
            wrong.append(f"{item} was stored as {stored}: {outcome}")

    def _some_of_the_past(self):
        if not self.past or self.rng.random() < 0.85:
            return []
        return [self.rng.choice(self.past) for _ in range(self.rng.randint(1, 10))]

    def _transaction_id(self):
        kind = self.rng.random()
        if kind < 0.4 and not self.plan.faults:
            return None
        if kind < 0.7:
            return uuid7(self.rng)
        if kind < 0.7005:  # a clock that is wrong
            return uuid7(self.rng, time.time_ns() // 1_000_000 + self.rng.randint(-10**7, 10**7))
        return f"order {self.rng.getrandbits(64):x} \u00e9\"\\/"

    def _item(self, partition, sequence, txn):
        item = {"queue": QUEUE, "partition": partition,
                "payload": {"p": self.pushed.producer, "s": sequence}}
        if txn:
            item["transactionId"] = txn
        return item


# ---- consumers


class Group:
    """What the consumers of one group, threads of one process, share."""

    def __init__(self, name, total):
        self.consumed = Consumed(name or QUEUE_MODE)
        self.name = name
        self.total = total  # shared number of messages for the group; -1 while it may grow
        self.lock = threading.Lock()
        self.progress = time.monotonic()

    def finished(self):
        """Everything is settled, or nothing has moved for long."""
        with self.lock:
            if 0 <= self.total.value <= len(self.consumed.completed) + len(self.consumed.dead):
                return True
            return self.total.value >= 0 and time.monotonic() - self.progress > STALL_SECONDS


class Consumer:
    """Pops in every way there is, and settles what it gets in every way there is."""

    def __init__(self, plan, group, number):
        self.plan = plan
        self.group = group
        self.rng = plan.rng("consumer", group.name, number)
        self.client = Client(plan.pop_from[number % len(plan.pop_from)])
        self.ack_client = Client(plan.pop_from[(number + 1) % len(plan.pop_from)])

    def run(self):
        """Until the group has finished."""
        while not self.group.finished():
            self._step()

    def _step(self):
        kind = self.rng.random()
        options = {"batch": 1000, "partitions": 10, "wait": "true", "timeout": 1000}
        partition = None
        patient = True
        if kind < 0.10:
            options.update(partitions=1, batch=self.rng.randint(1, 300))
        elif kind < 0.20:
            partition = self.rng.choice(self.plan.partitions_hot + self.plan.partitions_cold[:3])
            options.update(batch=self.rng.randint(1, 500))
            del options["partitions"]
        elif kind < 0.25:
            options.update(wait="false")
        elif kind < 0.30:
            patient = False
            options.update(wait="false", partitions=2, batch=50)
        options["leaseTime"] = PATIENT_SECONDS if patient else SHORT_SECONDS
        if self.plan.faults:
            patient = False
            options["leaseTime"] = FAULT_SECONDS
        asked = time.monotonic()
        try:
            status, reply = self.client.pop(QUEUE, partition, consumerGroup=self.group.name,
                                            **options)
        except Unanswered:
            if not self.plan.faults:
                raise
            time.sleep(0.02)
            return
        got = time.monotonic()
        if status == 503 and self.plan.faults:
            time.sleep(0.05)
        elif status == 200:
            self._settle(reply, asked, got, patient, options, partition)
        elif status != 204:
            raise AssertionError(f"pop: {status} {reply}")

    def _settle(self, reply, asked, got, patient, options, partition):
        wrong = []
        deliveries = {}
        messages = reply["messages"]
        if not messages or len(messages) > options["batch"]:
            wrong.append(f"{len(messages)} messages for {options}")
        for message in messages:
            name = message["partition"]
            delivery = deliveries.setdefault(name, Delivery(name, asked, got, patient))
            delivery.messages.append((message["offset"], message["id"], message["data"]["p"],
                                      message["data"]["s"], message["retryCount"]))
            if message["leaseId"] != reply["leaseId"] or message["queue"] != QUEUE:
                wrong.append(f"{message} in the lease {reply['leaseId']}")
        if len(deliveries) > options.get("partitions", 1) or \
                len(deliveries) != reply["partitionsClaimed"] or \
                partition not in (None, *deliveries):
            wrong.append(f"{list(deliveries)} claimed as {reply['partitionsClaimed']} for {options}")
        with self.group.lock:
            self.group.consumed.wrong += wrong
            self.group.consumed.deliveries += deliveries.values()
        acks = [self._ack(message, patient) for message in messages]
        if options["leaseTime"] == SHORT_SECONDS:
            if self.rng.random() < 0.5:  # a crash before any ack
                return
            acks = self.rng.sample(acks, self.rng.randint(1, len(acks)))
        elif self.rng.random() < 0.2:
            self.rng.shuffle(acks)
        chunk = len(acks)
        if self.rng.random() < 0.3:
            chunk = max(1, chunk // 3)
        if len(acks) <= 5 and self.rng.random() < 0.5:
            chunk = 1
        for start in range(0, len(acks), chunk):
            self._send(acks[start:start + chunk], deliveries, patient, single=chunk == 1)

    def _ack(self, message, patient):
        ack = {"transactionId": message["transactionId"], "partitionId": message["partitionId"],
               "leaseId": message["leaseId"], "status": self._verdict(message, patient)}
        if self.group.name:
            ack["consumerGroup"] = self.group.name
        return message["partition"], message["offset"], ack

    def _verdict(self, message, patient):
        """Some messages die at once, some fail, and of these some again and again until they die. Where the lease
        may have run out nobody fails one: the answer would not tell whether it counts."""
        kind = self.rng.random()
        if self.plan.faults:
            return "completed"
        if kind < 0.002:
            return "dlq"
        fails = 0.012 if message["retryCount"] == 0 else 0.5
        return "failed" if patient and kind < fails else "completed"

    def _send(self, acks, deliveries, patient, single):
        sent = time.monotonic()
        items = [ack for _, _, ack in acks]
        repeat = self.ack_client.insist if self.plan.faults else self.ack_client.request
        if single:
            status, outcomes = repeat("POST", "/api/v1/ack", items[0])
        else:
            status, outcomes = repeat("POST", "/api/v1/ack/batch", {"acknowledgments": items})
        answered = time.monotonic()
        if status != 200 or len(outcomes) != len(acks):
            raise AssertionError(f"ack of {len(acks)}: {status} {str(outcomes)[:500]}")
        strange = [outcome for outcome in outcomes
                   if not outcome["success"] and outcome["error"] != LOST_LEASE]
        settled = 0
        with self.group.lock:
            consumed = self.group.consumed
            consumed.wrong += [f"ack: {outcome}" for outcome in strange]
            for (partition, offset, ack), outcome in zip(acks, outcomes):
                deliveries[partition].ended = sent
                if not outcome["success"]:
                    if patient and not self.plan.faults:
                        consumed.wrong.append(f"{partition}@{offset} {ack}: {outcome}")
                    continue
                if ack["status"] == "failed":
                    consumed.failed[partition, offset] += 1
                consumed.acked += ack["status"] == "completed"
                if outcome["dlq"] and ack["status"] == "completed":
                    consumed.wrong.append(f"{partition}@{offset} {ack}: {outcome}")
                if outcome["dlq"] or ack["status"] != "failed":
                    settled += consumed.settle((partition, offset), answered, outcome["dlq"])
                    self.group.progress = answered
        Progress.add(self.plan.progress.completed[self.group.name], settled)


# ---- processes


def _in_threads(workers, progress):
    """Runs them to their end; returns what went wrong."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException:  # pylint: disable=broad-except
            errors.append(traceback.format_exc())
            progress.failed.set()
    threads = [threading.Thread(target=guarded, args=(work,)) for work in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


def _produce(plan, numbers, pipe):
    producers = [Producer(plan, number) for number in numbers]
    share = plan.messages and plan.messages // plan.producers
    errors = _in_threads([lambda p=producer: p.run(share) for producer in producers],
                         plan.progress)
    pipe.send(([producer.pushed for producer in producers], errors))


def _redrive(plan, pipe):
    redriver = Redriver(plan.rng("redriver"), Client(plan.push_to[0]), QUEUE, [name or QUEUE_MODE for name in GROUPS])
    errors = _in_threads([lambda: redriver.run(plan.progress)], plan.progress)
    pipe.send((redriver.redriven, errors))


def _consume(plan, name, total, pipe):
    group = Group(name, total)
    errors = _in_threads([Consumer(plan, group, number).run for number in range(plan.consumers)],
                         plan.progress)
    client = Client(plan.pop_from[0])
    status, extra = client.pop(QUEUE, consumerGroup=name, batch=1000, partitions=1000)
    if status != 204:
        group.consumed.wrong.append(f"something is left at the end: {status} {str(extra)[:300]}")
    pipe.send((group.consumed, errors))


def _apart(target, *args):
    """In a new process: lets go of the parent's sockets, which must be closed when the parent closes
    them. Their numbers stay taken, because objects of the parent still believe to own them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number > 2 and number not in (nothing, args[-1].fileno()):
            try:
                os.dup2(nothing, number)
            except OSError:  # it was the listing's own
                pass
    target(*args)


def run(plan, during=None):
    """(list of Pushed, list of Consumed, seconds). `during()` runs beside it, in this thread."""
    context = multiprocessing.get_context("fork")
    totals = {name: context.Value("q", -1) for name in GROUPS}
    began = time.monotonic()
    processes = []

    def start(target, *args):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_apart, args=(target, *args, theirs), daemon=True)
        process.start()
        theirs.close()
        processes.append(process)
        return process, ours

    def collect(started):
        results = []
        for process, pipe in started:
            result, errors = pipe.recv()
            process.join()
            if errors:
                raise AssertionError("\n".join(errors))
            results.append(result)
        return results
    numbers = list(range(plan.producers))
    producing = [start(_produce, plan, part) for part in (numbers[::2], numbers[1::2]) if part]
    consuming = [start(_consume, plan, name, totals[name]) for name in GROUPS]
    redriving = [] if plan.faults else [start(_redrive, plan)]
    try:
        try:
            if during:
                during()
        finally:
            plan.progress.over.set()
        pushed = [producer for part in collect(producing) for producer in part]
        plan.progress.produced.set()
        redriven = sum(collect(redriving), collections.Counter())
        stored = sum(len(producer.stored) for producer in pushed)
        for name, total in totals.items():
            total.value = stored + redriven[name or QUEUE_MODE]
        groups = collect(consuming)
        for consumed in groups:
            consumed.redriven = redriven[consumed.group]
        return pushed, groups, time.monotonic() - began
    finally:
        for process in processes:
            process.terminate()  # a failed run leaves nobody behind
