"""I6 for transactionIds without a time inside, as clients see it: one `queued` per (partition, id), whatever the kind
of id, with two brokers, transactions and SQL users writing to the same partitions in turns, memories that are lost and
filled again, and the index over the log made and merged meanwhile."""

import collections
import os
import random
import threading
import uuid

import pytest

from support.process import wait_until


@pytest.fixture
def queue(request):
    return f"{request.node.name}-{uuid.uuid4().hex[:8]}"


def push(broker, queue, items):
    """The outcomes of (partition, id)s pushed in one call; none when it is not known what became of them."""
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": partition, "payload": 1, "transactionId": txn} for partition, txn in items]})
    return reply.json() if reply.status == 201 else None


def calls(postgres, function):
    return int(postgres.psql("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions "
                             f"WHERE schemaname = 'queen' AND funcname = '{function}'"))


class Writers:
    """Push ids of a small pool again and again; count how often each was `queued`."""

    def __init__(self, postgres, brokers, queue, seed):
        self.postgres, self.brokers, self.queue = postgres, brokers, queue
        rng = random.Random(seed)
        self.pool = ([f"order-{number}" for number in range(1500)] + [str(uuid.UUID(int=rng.getrandbits(128), version=4)) for _ in range(1500)]
                     + [str(uuid.UUID(int=(1 << 60 | rng.getrandbits(58)) & ~(0xF << 76) | 7 << 76 | 1 << 63)) for _ in range(200)])
        self.queued = collections.Counter()
        self.trouble = []
        self._lock = threading.Lock()

    def _note(self, outcomes, items):
        with self._lock:
            for outcome, item in zip(outcomes, items):
                if outcome["status"] == "queued":
                    self.queued[item] += 1
                elif outcome["status"] != "duplicate":
                    self.trouble.append(outcome)

    def write(self, seed, rounds):
        rng = random.Random(seed)
        for _ in range(rounds):
            items = [(f"p{rng.randrange(3)}", rng.choice(self.pool)) for _ in range(rng.choice((1, 5, 40)))]
            broker = rng.choice(self.brokers)
            while (outcomes := push(broker, self.queue, items)) is None:
                pass  # what was stored is a duplicate the next time, and counted below
            self._note(outcomes, items)

    def disturb(self, seed, stop):
        rng = random.Random(seed)
        while not stop.wait(0.05):
            what = rng.random()
            if what < 0.15:   # connections are lost: memories are dropped
                self.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                                   f"AND backend_type = 'client backend' ORDER BY random() LIMIT {rng.randrange(1, 4)}")
            elif what < 0.6:
                self.postgres.psql(f"SELECT queen.index_untimed(id, {rng.randrange(1, 9)}) FROM queen.partitions; "
                                   "SELECT queen.merge_untimed()")
            else:
                item = (f"p{rng.randrange(3)}", rng.choice(self.pool))
                self.postgres.psql(f"SELECT queen.push('{self.queue}', '1', '{item[0]}', '{item[1]}')")


def test_a_broker_that_remembers_asks_nobody(two_brokers, queue):
    postgres, here, there = two_brokers
    for number in range(50):
        assert push(here, queue, [("p", f"order-{number}")])[0]["status"] == "queued"
    assert push(there, queue, [("p", "order-7"), ("p", "order-50")])[0]["status"] == "duplicate"
    wait_until(lambda: calls(postgres, "load_ids") > 0)  # what the other has written is read
    # One of the two calls found order-7, and the other stored what was left.
    wait_until(lambda: calls(postgres, "find_untimed") >= 2)
    assert calls(postgres, "find_untimed") == 2


def test_ids_of_every_kind_are_stored_once(two_brokers, queue):
    postgres, *brokers = two_brokers
    seed = int(os.environ.get("QUEEN_TEST_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}")
    writers = Writers(postgres, brokers, queue, seed)
    assert push(brokers[0], queue, [(f"p{number}", "first") for number in range(3)])
    stop = threading.Event()
    disturber = threading.Thread(target=writers.disturb, args=(seed, stop))
    threads = [threading.Thread(target=writers.write, args=(seed + 1 + number, 60)) for number in range(4)]
    for thread in [disturber] + threads:
        thread.start()
    for thread in threads:
        thread.join()
    stop.set()
    disturber.join()
    assert writers.trouble == []
    assert [item for item, count in writers.queued.items() if count > 1] == []
    stored = postgres.psql("SELECT count(*), count(DISTINCT (partition, transaction_id)) FROM queen.messages "
                           f"WHERE queue = '{queue}'").split("|")
    assert stored[0] == stored[1] and int(stored[0]) >= len(writers.queued) > 1000
    # Everything is found again, by a broker that has just lost its memory and by one that has it.
    postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
    items = sorted(writers.queued)
    for broker in brokers + brokers:
        for first in range(0, len(items), 500):
            part = items[first:first + 500]
            wait_until(lambda: (outcomes := push(broker, queue, part)) is not None
                       and all(outcome["status"] == "duplicate" for outcome in outcomes))
