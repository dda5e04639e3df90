"""I10, names without end: one client makes queues, partitions or groups as fast as it can. A stranger's pushes, pops
and acks go on being answered, and the memory of the broker stays below the numbers of docs/reliability.md."""

import socket
import threading

import pytest

from support.acks import ack_of
from support.broker import Broker, sanitized
from support.postgres import Postgres

KIB, MIB = 1 << 10, 1 << 20
WORKERS = 2
IDLE_GROUPS_MAX = 500  # of each worker
CONNECTIONS = 8
PER_BATCH = 50
# docs/reliability.md, "The bound": what is remembered, and what a flood has on its way
GROUP_BYTES = 4 * KIB
PARTITION_BYTES = KIB
LANE_BYTES = KIB
ON_THE_WAY_BYTES = 16 * MIB


@pytest.fixture(scope="module")
def broker():
    """One for the file, on a PostgreSQL of its own."""
    postgres = Postgres()
    made = None
    try:
        postgres.start()
        made = Broker("--num-workers", str(WORKERS),
                      env=dict(postgres.env(), POP_IDLE_GROUPS_MAX=str(IDLE_GROUPS_MAX))).start()
        yield made
        print(f"---- log of the broker\n{made.log()[-10000:]}")
    finally:
        if made is not None:
            made.close()
        postgres.close()


def memory(broker):
    """Resident now, in bytes."""
    with open(f"/proc/{broker.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * KIB for line in file if line.startswith("VmRSS"))


class Flood:
    """CONNECTIONS clients that send `count` requests in all, PER_BATCH at a time; request(n) -> bytes."""

    def __init__(self, broker, count, request):
        self.broker = broker
        self.request = request
        self.statuses = {}
        self.errors = []
        numbers = [range(n, count, CONNECTIONS) for n in range(CONNECTIONS)]
        self.threads = [threading.Thread(target=self._run, args=(mine,)) for mine in numbers]
        for thread in self.threads:
            thread.start()

    def _run(self, numbers):
        try:
            with socket.create_connection((self.broker.host, self.broker.port), 60) as connection:
                replies = connection.makefile("rb")
                for first in range(0, len(numbers), PER_BATCH):
                    batch = numbers[first:first + PER_BATCH]
                    connection.sendall(b"".join(self.request(number) for number in batch))
                    for _ in batch:
                        self._note(replies)
        except Exception as error:  # pylint: disable=broad-except
            self.errors.append(error)

    def _note(self, replies):
        status, length = int(replies.readline().split()[1]), 0
        while (line := replies.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        replies.read(length)
        self.statuses[status] = self.statuses.get(status, 0) + 1

    def running(self):
        return any(thread.is_alive() for thread in self.threads)

    def finish(self):
        for thread in self.threads:
            thread.join()
        assert not self.errors, self.errors
        return self.statuses


class Neighbour:
    """The second client: pushes a message, pops it and acks it, each answered at its first attempt."""

    def __init__(self, broker, queue):
        self.broker = broker
        self.queue = queue
        self.steps = 0

    def step(self):
        pushed = self.broker.post("/api/v1/push", {"items": [{"queue": self.queue, "payload": self.steps}]})
        assert pushed.status == 201 and pushed.json()[0]["status"] == "queued", pushed
        popped = self.broker.get(f"/api/v1/pop/queue/{self.queue}?consumerGroup=g&subscriptionMode=all")
        assert popped.status == 200, popped
        message = popped.json()["messages"][0]
        assert message["data"] == self.steps
        acked = self.broker.post("/api/v1/ack", ack_of(message, consumerGroup="g"))
        assert acked.status == 200 and acked.json()[0]["success"], acked
        self.steps += 1


def pop_of(queue, group):
    return f"GET /api/v1/pop/queue/{queue}?consumerGroup={group} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


def push_of(*items):
    body = ",".join(f'{{"queue":"{queue}","partition":"{partition}","payload":1}}' for queue, partition in items)
    body = f'{{"items":[{body}]}}'.encode()
    return b"POST /api/v1/push HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def flooded(broker, name, count, request, remembered_bytes):
    """Runs the flood beside the neighbour; what it leaves in memory is at most `remembered_bytes`."""
    neighbour = Neighbour(broker, f"neighbour.{name}")
    neighbour.step()
    before = memory(broker)
    flood = Flood(broker, count, request)
    while flood.running():
        neighbour.step()
    answered = flood.finish()
    grown, bound = memory(broker) - before, remembered_bytes + ON_THE_WAY_BYTES
    print(f"{name}: {answered}, {neighbour.steps} steps of the neighbour, {grown / MIB:.1f} of {bound / MIB:.1f} MiB")
    assert set(answered) <= {200, 201, 204}, answered
    assert neighbour.steps > 3, "the neighbour did nothing beside the flood"
    assert grown <= bound or sanitized()  # whose memory is not the broker's


def test_groups(broker):
    """A queue with messages, and one that does not exist."""
    count = 16_000
    assert broker.post("/api/v1/push", {"items": [{"queue": "many.groups", "payload": 1}]}).status == 201
    flooded(broker, "groups", count,
            lambda n: pop_of("many.groups" if n % 4 else "many.none", f"g{n}"),
            WORKERS * IDLE_GROUPS_MAX * GROUP_BYTES + count * 3 // 4 * LANE_BYTES)


def test_queues(broker):
    count = 600
    flooded(broker, "queues", count, lambda n: push_of(*((f"many.q{n}.{i}", "a") for i in range(20))),
            20 * count * PARTITION_BYTES)


def test_partitions(broker):
    count = 600
    flooded(broker, "partitions", count, lambda n: push_of(*(("many.partitions", f"{n}.{i}") for i in range(20))),
            20 * count * PARTITION_BYTES)
