"""Outages while producers push: whatever was answered is delivered once, in its producer's order.

Each producer owns its partitions and sends one request after the other, repeating what was refused
or not answered, so a partition must hold exactly its numbers, rising. The run prints its seed, and
QUEEN_TEST_SEED replays the choices (not what the machine makes of them).
"""

import collections
import random
import threading
import time
import traceback

from history.client import Client
from history.run import new_seed
from support.process import wait_until

QUEUE = "outages.orders"
PRODUCERS = 4
PARTITIONS = 3  # each
OUTAGES = 4


class Producer:
    """Counts what was answered how."""

    def __init__(self, broker, number, rng, with_txns=True):
        self.client = Client((broker.host, broker.port))
        self.names = [f"p{number}-{i}" for i in range(PARTITIONS)]
        self.next = dict.fromkeys(self.names, 0)
        self.rng = rng
        self.with_txns = with_txns
        self.counts = collections.Counter()
        self.unknown = set()  # (partition, number): 503 outcome_unknown, so it may be stored or not
        self.errors = []
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.stopping.is_set():
                self.step()
        except BaseException:  # pylint: disable=broad-except
            self.errors.append(traceback.format_exc())

    def step(self):
        items = []
        for _ in range(self.rng.choice((1, 1, 5, 40))):
            name = self.rng.choice(self.names)
            number = self.next[name]
            self.next[name] += 1
            item = {"queue": QUEUE, "partition": name, "payload": {"n": number}}
            if self.with_txns:
                item["transactionId"] = f"{name} {number}"
            items.append(item)
        if self.with_txns:
            status, outcomes = self.client.insist("POST", "/api/v1/push", {"items": items})
        else:
            status, outcomes = self.client.request("POST", "/api/v1/push", {"items": items},
                                                   timeout=60)
        if status == 503:
            assert outcomes["code"] == "outcome_unknown", outcomes
            outcomes = [{"status": "failed", "error": outcomes["error"]}] * len(items)
        else:
            assert status == 201, (status, outcomes)
        for item, outcome in zip(items, outcomes):
            self.counts[outcome["status"]] += 1
            if outcome["status"] == "failed":
                assert not self.with_txns and "outcome is unknown" in outcome["error"], outcome
                self.unknown.add((item["partition"], item["payload"]["n"]))


def take_everything(broker, producers):
    """partition -> numbers, when all that was answered has come and nothing is left."""
    client = Client((broker.host, broker.port))
    taken = collections.defaultdict(list)
    expected = sum(sum(p.next.values()) - len(p.unknown) for p in producers)
    give_up = time.monotonic() + 120
    while True:
        status, reply = client.pop(QUEUE, batch=10000, partitions=100, autoAck="true", wait="true",
                                   timeout=1000)
        for message in reply["messages"] if status == 200 else ():
            taken[message["partition"]].append(message["data"]["n"])
        total = sum(len(numbers) for numbers in taken.values())
        if status == 204 and total >= expected:
            return taken
        assert time.monotonic() < give_up, f"{total} of {expected} came"


def check(producers, taken):
    for producer in producers:
        assert not producer.errors, producer.errors[0]
        for name, count in producer.next.items():
            got = taken[name]
            missing = set(range(count)) - set(got)
            assert len(set(got)) == len(got), f"{name}: doubled"
            assert all((name, n) in producer.unknown for n in missing), f"{name}: lost {missing}"
            assert got == sorted(got), f"{name}: reordered"


def run_load(broker, rng, faults, with_txns=True):
    producers = [Producer(broker, number, random.Random(rng.random()), with_txns)
                 for number in range(PRODUCERS)]
    for producer in producers:
        producer.thread.start()
    faults()
    before = [producer.counts["queued"] for producer in producers]
    wait_until(lambda: all(producer.counts["queued"] > count or producer.errors
                           for producer, count in zip(producers, before)),
               120, "pushes to go to PostgreSQL again, under load")
    for producer in producers:
        producer.stopping.set()
    for producer in producers:
        producer.thread.join()
    taken = take_everything(broker, producers)
    counts = sum((producer.counts for producer in producers), collections.Counter())
    print("outages:", dict(counts), "partitions:", len(taken), flush=True)
    check(producers, taken)
    return counts


def outage(postgres, rng, during=lambda: None):
    rng.choice((postgres.kill9, lambda: postgres.stop("immediate"), postgres.stop))()
    time.sleep(rng.uniform(0.2, 1.5))  # load, not an event
    during()
    postgres.start()
    time.sleep(rng.uniform(0.5, 1.5))


def make_loaded(make_broker, postgres):
    seed = new_seed()
    print(f"outages: seed={seed}", flush=True)
    broker = make_broker("--num-workers", "2", "--file-buffer-after-ms", "100",
                         "--file-buffer-file-bytes", "65536", env=postgres.env()).start()
    return broker, random.Random(seed)


def test_postgresql_comes_and_goes(make_broker, postgres):
    broker, rng = make_loaded(make_broker, postgres)
    counts = run_load(broker, rng, lambda: [outage(postgres, rng) for _ in range(OUTAGES)])
    assert counts["buffered"] > 0
    broker.wait_for("/readyz", 200)


def test_without_transaction_ids_nothing_is_doubled_either(make_broker, postgres):
    """The broker lives, so every push is answered; what it cannot know it does not claim."""
    broker, rng = make_loaded(make_broker, postgres)
    counts = run_load(broker, rng, lambda: [outage(postgres, rng) for _ in range(OUTAGES)],
                      with_txns=False)
    assert counts["buffered"] > 0


def test_the_broker_is_killed_during_outages(make_broker, postgres):
    broker, rng = make_loaded(make_broker, postgres)

    def kill_and_restart():
        broker.kill9()
        broker.start(until="live")
        time.sleep(rng.uniform(0.0, 1.0))
    counts = run_load(broker, rng, lambda: [outage(postgres, rng, kill_and_restart)
                                            for _ in range(OUTAGES)])
    assert counts["buffered"] > 0
    broker.wait_for("/readyz", 200)


def test_connections_are_cut_again_and_again(make_broker, postgres, make_proxy):
    seed = new_seed()
    print(f"outages: seed={seed}", flush=True)
    rng = random.Random(seed)
    proxy = make_proxy(postgres.host, postgres.port)
    broker = make_broker("--num-workers", "2", "--file-buffer-after-ms", "100",
                         env=postgres.env(proxy.host, proxy.port)).start()

    def cut():
        for _ in range(8):
            proxy.freeze(replies_only=rng.random() < 0.7)
            time.sleep(rng.uniform(0.0, 0.3))
            proxy.refuse()
            proxy.cut()
            time.sleep(rng.uniform(0.0, 0.6))
            proxy.forward()
            time.sleep(rng.uniform(0.2, 0.8))
    run_load(broker, rng, cut)
