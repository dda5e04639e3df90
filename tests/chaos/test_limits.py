"""I10, one bad client: it tries to take all of a limit, while a second client's pushes, pops and acks go on
being answered and memory stays below the bound that docs/reliability.md states."""

import collections
import contextlib
import json
import select
import socket
import threading

import pytest

from chaos.overload import MIB, assert_refused, memory_bound, peak_memory, push
from history.client import Client
from support.broker import Broker, sanitized
from support.postgres import Postgres
from support.process import wait_until
from support.shared_state import waiting

BODY_BYTES, REQUEST_BYTES, REPLY_BYTES = 4 * MIB, 16 * MIB, 16 * MIB
ITEMS = 2000
CONNECTIONS = 300
ROUNDS = 8
SETTINGS = (
    "--http-body-bytes-max", str(BODY_BYTES), "--http-request-bytes-max", str(REQUEST_BYTES),
    "--http-reply-bytes-max", str(REPLY_BYTES), "--http-connections-max", str(CONNECTIONS),
    "--sidecar-push-items-max", str(ITEMS), "--sidecar-ack-items-max", str(ITEMS),
    "--sidecar-transaction-items-max", str(ITEMS), "--sidecar-pops-max", str(ITEMS),
    "--file-buffer-max-bytes", "0", "--num-workers", "2", "--http-upload-grace-ms", "2000")


@pytest.fixture(scope="module")
def shared():
    """(Postgres, Broker, its memory at rest) for the whole file; the tests leave it as it was."""
    with contextlib.ExitStack() as stack:
        postgres = Postgres()
        stack.callback(postgres.close)
        postgres.start()
        broker = Broker(*SETTINGS, env=postgres.env())
        stack.callback(broker.close)
        stack.callback(lambda: print(f"---- log of the broker\n{broker.log()[-10000:]}"))
        broker.start()
        yield postgres, broker, peak_memory(broker)


@pytest.fixture
def broker(shared):
    """The broker, held to its memory."""
    _, broker, at_rest = shared
    yield broker
    peak = peak_memory(broker)
    bound = memory_bound(at_rest, REQUEST_BYTES, 3 * ITEMS, ITEMS, CONNECTIONS)
    print(f"limits: at rest {at_rest >> 20} MiB, peak {peak >> 20} MiB, bound {bound >> 20} MiB")
    assert peak < bound or sanitized()  # whose memory is not the broker's


class Attacker:
    """The bad client: connections that it opens and does as little with as it likes."""

    def __init__(self, broker):
        self.address = (broker.host, broker.port)
        self.sockets = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for client in self.sockets:
            client.close()

    def connect(self, data=b"", receive_buffer=None):
        """One more connection, on which `data` was sent as far as it is taken at once."""
        client = socket.socket()
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        client.settimeout(60)
        client.connect(self.address)
        client.setblocking(False)
        self.sockets.append(client)
        self.send(client, data)
        return client

    @staticmethod
    def send(client, data):
        """How many bytes of `data` were taken; a connection that is closed takes none."""
        sent = 0
        with contextlib.suppress(OSError):
            while sent < len(data):
                sent += client.send(data[sent:])
        return sent

    def answers(self):
        """What has come on each connection so far, without waiting: status codes, None for nothing."""
        statuses = []
        for client in self.sockets:
            try:
                data = client.recv(65536, socket.MSG_PEEK)
            except BlockingIOError:
                data = b""
            except OSError:
                data = b"- 0"  # reset
            statuses.append(int(data.split()[1]) if data else None)
        return statuses


class Bystander:
    """The second client: pushes, pops and acks one after the other, on a connection it keeps and on new
    ones. Whatever is not answered with success is an error. One that was closed while it was idle it
    makes anew, as any client does."""

    def __init__(self, broker, queue, new_connections=True):
        self.address = (broker.host, broker.port)
        self.queue = queue
        self.kept = Client(self.address)
        self.new_connections = new_connections
        self.count = 0
        self.round(self.kept)

    def round(self, client):
        """One message, there and back."""
        self.count += 1
        status, outcomes = client.request("POST", "/api/v1/push", {"items": [
            {"queue": self.queue, "payload": {"n": self.count, "text": "x" * 2000}}]})
        assert status == 201 and outcomes[0]["status"] == "queued", (status, outcomes)
        status, popped = client.pop(self.queue, wait="true")
        assert status == 200, (status, popped)
        message = popped["messages"][0]
        assert message["data"]["n"] == self.count
        status, outcomes = client.request("POST", "/api/v1/ack", {
            name: message[name] for name in ("transactionId", "partitionId", "leaseId")})
        assert status == 200 and outcomes[0]["success"] is True, (status, outcomes)

    def rounds(self, count=ROUNDS):
        """Each over the kept connection and over a new one."""
        for _ in range(count):
            assert self.kept.wake() == 200
            self.round(self.kept)
            if self.new_connections:
                client = Client(self.address)
                self.round(client)
                client.close()


def head(path, length, fields=""):
    """The beginning of a POST."""
    framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
    return f"POST {path} HTTP/1.1\r\nHost: x\r\n{fields}{framing}\r\n\r\n".encode()


PATHS = ("/api/v1/push", "/api/v1/ack", "/api/v1/configure")

# ---- bodies


def test_bodies_that_are_announced(broker):
    """Each announces as much as a body may have, and sends one byte of it."""
    bystander = Bystander(broker, "limits.announced")
    with Attacker(broker) as attacker:
        for number in range(60):
            attacker.connect(head(PATHS[number % 3], BODY_BYTES) + b"{")
        bystander.rounds()
        # Who asks for more than there ever is hears so.
        client = attacker.connect(head(PATHS[0], REQUEST_BYTES + 1))
        select.select([client], [], [], 60)
        assert attacker.answers()[-1] == 413


@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_that_stop_half_way(broker, chunked):
    """Nine tenths of each are sent, as fast as they are taken, and again and again."""
    bystander = Bystander(broker, f"limits.half.{chunked}")
    part = BODY_BYTES * 9 // 10
    data = (b"%x\r\n" % BODY_BYTES if chunked else b"") + b"x" * part
    stopping = threading.Event()

    def attack(number):
        with Attacker(broker) as attacker:
            while not stopping.is_set():
                path = PATHS[number % 3]
                client = attacker.connect()
                client.settimeout(60)
                with contextlib.suppress(OSError):
                    client.sendall(head(path, None if chunked else BODY_BYTES) + data)
                    select.select([client], [], [], 0.5)
                attacker.sockets.pop().close()
    threads = [threading.Thread(target=attack, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    try:
        bystander.rounds()
    finally:
        stopping.set()
        for thread in threads:
            thread.join()
    # Nothing of it is left: the largest push finds room.
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": "limits.half.large", "payload": "x" * (BODY_BYTES - 200)}]}, timeout=60)
    assert reply.status == 201, reply


def test_bodies_that_arrive_slowly(broker):
    """A few bytes now and then are not enough, whatever else is on the connection."""
    bystander = Bystander(broker, "limits.slow")
    poll = b"GET /api/v1/pop/queue/limits.nothing?wait=true&timeout=60000 HTTP/1.1\r\nHost: x\r\n\r\n"
    with Attacker(broker) as attacker:
        for number in range(60):
            attacker.connect(head(PATHS[number % 3], None if number % 2 else BODY_BYTES))
        polling = [attacker.connect(poll + head(PATHS[0], BODY_BYTES) + b"x" * MIB) for _ in range(6)]

        def trickle():
            for client in attacker.sockets:
                attacker.send(client, b"1\r\nx\r\n")
            bystander.rounds(1)
            return all(status in (408, 503) for status in attacker.answers()[:60])
        wait_until(trickle, 60, "the slow ones to be answered")
        # Their bodies are gone though their first replies are still owed.
        assert len(polling) == 6 and attacker.answers()[60:] == [None] * 6
        bystander.rounds()


def test_small_bodies_that_arrive_slowly(broker):
    """So many that together they are more than pushes may have, each fast enough and never whole."""
    bystander = Bystander(broker, "limits.small")
    with Attacker(broker) as attacker:
        for _ in range(REQUEST_BYTES // (64 * 1024)):
            attacker.connect(head("/api/v1/ack", 64 * 1024) + b"[" + b" " * 58_000)
        for _ in range(4):
            for client in attacker.sockets:
                attacker.send(client, b" " * 1200)
            bystander.rounds(2)


# ---- replies


def assert_served_beside(bystander, attacker):
    """Every connection of the attacker was answered, and the bystander is while nothing of it is read."""
    wait_until(lambda: None not in attacker.answers(), 60, "the attacker to be answered")
    bystander.rounds()
    print("limits: the attacker's answers", collections.Counter(attacker.answers()))


@pytest.mark.parametrize("count,refused", [(199_999, 413), (15_000, 503)])
def test_acks_whose_replies_are_not_read(broker, count, refused):
    """Each is refused by itself, with an answer that is much longer than it is."""
    bystander = Bystander(broker, f"limits.acks.{count}")
    body = b'{"acknowledgments":[' + b",".join([b"{}"] * count) + b"]}"
    with Attacker(broker) as attacker:
        for _ in range(40):
            client = attacker.connect(receive_buffer=65536)
            client.settimeout(60)
            client.sendall(head("/api/v1/ack/batch", len(body)) + body)
            client.setblocking(False)
        assert_served_beside(bystander, attacker)
        assert refused in attacker.answers()


@pytest.mark.parametrize("keys,statuses", [(8, {200, 503}), (20, {413})])
def test_state_that_is_not_read(broker, keys, statuses):
    """The state of one partition, asked for by many: it is read when there is room for all of it, and never
    when it is more than there ever is."""
    bystander = Bystander(broker, f"limits.state.{keys}")
    pushed = push(broker, [{"queue": f"limits.state.{keys}.in", "payload": 1}]).json()
    query = broker.post("/streams/v1/queries", {"name": f"limits.{keys}", "source_queue": f"limits.state.{keys}.in",
                                                "config_hash": "h"}).json()
    where = {"query_id": query["query_id"], "partition_id": pushed[0]["partition_id"]}
    for number in range(keys):
        reply = broker.post("/streams/v1/cycle", where | {"consumer_group": "c", "state_ops": [
            {"type": "upsert", "key": f"k{number}", "value": "x" * 900_000}]})
        assert reply.status == 200 and reply.json()["success"], reply
    body = json.dumps(where).encode()
    with Attacker(broker) as attacker:
        for _ in range(30):
            attacker.connect(head("/streams/v1/state/get", len(body)) + body, receive_buffer=65536)
        assert_served_beside(bystander, attacker)
        assert set(attacker.answers()) == statuses
    # Part of it is small.
    reply = broker.post("/streams/v1/state/get", where | {"keys": ["k1"]})
    assert [row["key"] for row in reply.json()["rows"]] == ["k1"]


def test_shared_state_that_is_not_read(broker):
    """Asked for again and again while many groups wait: the first are listed, all are counted."""
    bystander = Bystander(broker, "limits.shared")
    with Attacker(broker) as attacker:
        for number in range(200):
            attacker.connect(f"GET /api/v1/pop/queue/limits.nothing?wait=true&timeout=60000&consumerGroup={number:05}"
                             f"{'g' * 245} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

        def shared_state():
            return broker.get("/api/v1/system/shared-state").json()
        wait_until(lambda: shared_state().get("waiting_groups", 200) >= 200, 60, "the pops to wait")
        state = shared_state()
        assert len(state["consumer_presence"]) == 100 and state["waiting_pops"] >= 200
        with Attacker(broker) as asking:
            for _ in range(8):
                asking.connect(b"GET /api/v1/system/shared-state HTTP/1.1\r\nHost: x\r\n\r\n" * 64, receive_buffer=4096)
            assert_served_beside(bystander, asking)


# ---- connections


@pytest.mark.parametrize("name,data", [
    ("idle", b""),
    ("used", b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("half-heads", b"GET /livez HTTP/1.1\r\nHost: x"),
    ("half-bodies", head("/api/v1/push", 100) + b"{"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_connections_that_are_held(broker, name, data):
    """Twice as many as there may be are opened and kept; new ones of others are served all the same."""
    bystander = Bystander(broker, f"limits.connections.{name}")
    with Attacker(broker) as attacker:
        for _ in range(2 * CONNECTIONS):
            attacker.connect(data)
        # Who comes in the same second as they is refused.
        wait_until(lambda: broker.get("/livez").status == 200, 60, "a connection")
        bystander.rounds()


def test_requests_whose_replies_are_not_read(broker):
    """Thousands of requests in a row on each connection, and no reply is taken."""
    bystander = Bystander(broker, "limits.unread")
    requests = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n" * 2000
    with Attacker(broker) as attacker:
        for _ in range(40):
            attacker.connect(receive_buffer=4096)
        # Until nothing is taken any more: replies wait in the broker, requests in the kernel.
        ready = attacker.sockets
        while ready:
            for client in ready:
                attacker.send(client, requests)
            bystander.rounds(1)
            _, ready, _ = select.select([], attacker.sockets, [], 0.5)
        bystander.rounds()


def test_long_polls_in_a_row(broker):
    """More on few connections than may wait in all: of each connection one waits, the others in the socket."""
    bystander = Bystander(broker, "limits.polls")
    count, depth = CONNECTIONS // 2, 64
    assert count * depth > 2 * ITEMS
    poll = b"GET /api/v1/pop/queue/limits.poll?wait=true&timeout=600000 HTTP/1.1\r\nHost: x\r\n\r\n"
    with Attacker(broker) as attacker:
        for _ in range(count):
            attacker.connect(poll * depth)
        wait_until(lambda: waiting(broker, "limits.poll") >= count, 60, "the polls to wait")
        bystander.rounds()
        assert waiting(broker, "limits.poll") == count


def test_namespaces_that_are_waited_for(broker):
    """Few pops that wait for many queues each, more than there may be pops: they take the place of no pop. Those for
    which there is no room are told so, and not left to wait for what they would not hear of."""
    bystander = Bystander(broker, "limits.namespaces")
    queues, groups = 200, 30
    assert queues * groups > 2 * ITEMS
    for first in range(0, queues, 100):
        assert push(broker, [{"queue": f"waited.{number}", "payload": 1} for number in range(first, first + 100)]).status == 201
    with Attacker(broker) as attacker:
        for number in range(groups):
            attacker.connect(f"GET /api/v1/pop?namespace=waited&consumerGroup=g{number}&subscriptionMode=new&wait=true"
                             "&timeout=600000 HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        wait_until(lambda: 503 in attacker.answers(), 60, "one of them to be refused")
        bystander.rounds()
        assert set(attacker.answers()) <= {503, None}
        reply = broker.get("/api/v1/pop?namespace=waited&consumerGroup=another&autoAck=true")
        assert reply.status == 200, reply


# ---- descriptors


def test_descriptors(make_broker, make_postgres):
    """Clients take all they can get, PostgreSQL goes and comes back, and the broker gets to it."""
    postgres = make_postgres()
    broker = make_broker("--num-workers", "2", "--file-buffer-max-bytes", "0", env=postgres.env(),
                         descriptors="200:256").start()
    # The soft limit was raised to the hard one.
    with open(f"/proc/{broker.pid}/limits", encoding="ascii") as file:
        assert "256" == next(line for line in file if line.startswith("Max open files")).split()[3]
    assert "QUEEN_HTTP_CONNECTIONS_MAX" in broker.log() and "open_files=256" in broker.log()
    bystander = Bystander(broker, "limits.descriptors", new_connections=False)
    poll = b"GET /api/v1/pop/queue/limits.nothing?wait=true&timeout=600000 HTTP/1.1\r\nHost: x\r\n\r\n"
    with Attacker(broker) as attacker:
        for _ in range(400):
            attacker.connect(poll)  # waiting pops are not closed for newcomers
        wait_until(lambda: 503 in attacker.answers(), 60, "the last to be refused")
        assert_refused(broker.get("/livez"))
        bystander.rounds()
        postgres.stop("immediate")
        wait_until(lambda: bystander.kept.request("GET", "/readyz")[0] == 503, 60, "the loss")
        postgres.start()
        wait_until(lambda: bystander.kept.request("GET", "/readyz")[0] == 200, 60, "the connections")
        bystander.rounds()
        assert "Too many open files" not in broker.log()
