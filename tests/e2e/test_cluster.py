"""Brokers that tell each other by UDP what is new. PostgreSQL is the truth: what is heard makes a broker
look there and nothing else, and where nothing is heard consumers are served by their own checks."""

import contextlib
import re
import socket
import threading
import time

import pytest

from support import udp
from support.acks import ack_of
from support.broker import Broker
from support.postgres import Postgres
from support.process import wait_until
from support.shared_state import peers, shared_state, wait_acquainted, wait_awaited


@pytest.fixture(scope="module")
def two():
    """(Postgres, Broker, Broker, Wire): the two are each other's only peer, over the wire."""
    with contextlib.ExitStack() as stack:
        def add(thing):
            stack.callback(thing.close)
            return thing

        postgres = add(Postgres({"track_functions": "all"}))
        postgres.start()
        ports = [udp.free_udp_port(), udp.free_udp_port()]
        wire = add(udp.Wire(ports))
        brokers = [add(Broker("--num-workers", "2", env=postgres.env() | {
            "QUEEN_UDP_PEERS": f"localhost:{wire.port}", "QUEEN_UDP_NOTIFY_PORT": str(port),
            "QUEEN_SYNC_SECRET": udp.SECRET})).start() for port in ports]
        for broker, port in zip(brokers, ports):
            broker.udp_port = port
            stack.callback(lambda b=broker: print(f"---- log of {b.url}\n{b.log()[-5000:]}"))
        yield postgres, *brokers, wire


@pytest.fixture
def queue(request):
    """The test's own."""
    return re.sub(r"\W", "-", request.node.name)


def push(broker, queue, *payloads, partition="Default"):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": partition, "payload": payload} for payload in payloads]})
    assert reply.status == 201, reply


def pop(broker, queue, **options):
    query = "&".join(f"{name}={value}" for name, value in ({"consumerGroup": "g"} | options).items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}", timeout=60)
    assert reply.status in (200, 204), reply
    return reply.json()["messages"] if reply.status == 200 else []


class Poll:
    """A long poll under way."""

    def __init__(self, broker, queue, **options):
        self.messages = None
        self._thread = threading.Thread(target=self._run, args=(broker, queue, options))
        self._thread.start()

    def _run(self, broker, queue, options):
        self.messages = pop(broker, queue, wait="true", timeout=30000, **options)

    def data(self):
        self._thread.join()
        return [message["data"] for message in self.messages]


@contextlib.contextmanager
def waiting(broker, queue, groups):
    """So many groups wait at a broker meanwhile."""
    with contextlib.ExitStack() as stack:
        for number in range(groups):
            client = stack.enter_context(socket.create_connection((broker.host, broker.port)))
            client.sendall(
                f"GET /api/v1/pop/queue/{queue}?consumerGroup=w{number}&wait=true&timeout=30000 HTTP/1.1\r\n"
                "Host: x\r\n\r\n".encode())
        yield


def name_one_wire(closing):
    """(peers, wires): for make_cluster, two brokers that name one wire; it is in the list once they are made."""
    wires = []

    def name(ports, _place):
        if not wires:
            wires.append(closing(udp.Wire(ports)))
        return f"127.0.0.1:{wires[0].port}"
    return name, wires


def dropped(broker, why):
    return shared_state(broker)["udp"]["packets_dropped"][why]


def hints(broker, which):
    return shared_state(broker)["hints"][which]


# ---- who is there


def test_three_find_each_other_and_themselves(postgres, make_cluster):
    brokers = make_cluster(postgres, 3)
    wait_acquainted(brokers)
    for broker in brokers:
        state = shared_state(broker)
        assert state["enabled"] and state["local_sidecars"] == 2
        assert [peer["address"] for peer in peers(broker, "self")] == [f"127.0.0.1:{broker.udp_port}"]
        assert {peer["name"].split(":")[1] for peer in peers(broker)} == \
            {str(other.port) for other in brokers if other is not broker}
        health = broker.get("/health").json()["shared_state"]
        assert health == {"enabled": True, "local_sidecars": 2, "peers_alive": 2, "peers_dead": 0}

    killed, *left = brokers
    killed.kill9()
    for broker in left:
        wait_until(lambda b=broker: len(peers(b, "dead")) == 1, what="the killed one to be missed")
    killed.start()
    wait_acquainted(brokers)
    push(left[0], "again", 1)
    assert [message["data"] for message in pop(killed, "again")] == [1]


def test_without_peers_nothing_is_sent_and_the_numbers_are_there(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    push(broker, "q", 1)
    assert len(pop(broker, "q", autoAck="true")) == 1
    poll = Poll(broker, "q", autoAck="true")
    wait_until(lambda: shared_state(broker)["group_backoff"]["groups_backed_off"] == 1)
    state = shared_state(broker)
    assert not state["enabled"] and state["peers"] == [] and state["local_sidecars"] == 2
    assert state["group_backoff"]["groups_tracked"] == 1
    assert state["consumer_presence"] == [{"queue": "q", "consumerGroup": "g", "waiting": 1}]
    assert state["caches"]["partition_ids"] == 1
    assert broker.get("/health").json()["shared_state"] == {"enabled": False, "local_sidecars": 2}
    push(broker, "q", 2)
    assert poll.data() == [2]
    assert shared_state(broker)["group_backoff"] == {
        "groups_tracked": 0, "groups_in_flight": 0, "groups_backed_off": 0}


def test_peers_without_a_secret_are_refused_unless_told_so(postgres, make_broker):
    env = postgres.env() | {"QUEEN_UDP_PEERS": "127.0.0.1:1", "QUEEN_UDP_NOTIFY_PORT": "0"}
    code, output = make_broker(env=env).run_to_end()
    assert code == 2 and "QUEEN_SYNC_SECRET must be given" in output
    broker = make_broker(env=env | {"QUEEN_SYNC_ALLOW_NO_SECRET": "true"}).start()
    assert shared_state(broker)["enabled"]


def test_brokers_listen_for_each_other_where_they_listen_by_default(postgres, make_broker):
    broker = make_broker(env=postgres.env() | {
        "QUEEN_UDP_PEERS": "127.0.0.1:1", "QUEEN_UDP_NOTIFY_PORT": "0", "QUEEN_SYNC_SECRET": udp.SECRET})
    broker.listens_on = None
    assert shared_state(broker.start())["enabled"]


def test_peers_on_other_machines_are_not_reached_from_the_loopback_and_that_is_said(two, make_broker):
    postgres = two[0]

    def start(peer):
        return make_broker(env=postgres.env() | {"QUEEN_UDP_PEERS": f"127.0.0.1:1,{peer}", "QUEEN_UDP_NOTIFY_PORT": "0",
                                                 "QUEEN_SYNC_SECRET": udp.SECRET}).start()
    elsewhere = start("192.0.2.1:6633")  # an address that no machine has
    said = "HOST lets nobody but this one reach the broker"
    wait_until(lambda: said in elsewhere.log())
    assert re.search(f"warn .*{said}.* peer=192.0.2.1:6633 host=127.0.0.1", elsewhere.log())
    near = start("127.0.0.2:1")
    wait_until(lambda: len(peers(near, "unknown")) == 2)
    assert said not in near.log()


def test_a_broker_that_comes_is_a_line_for_programs(two, make_cluster):
    postgres, here, there, _ = two
    wait_acquainted([here, there])
    assert "a broker is there" not in here.log() + there.log()
    brokers = make_cluster(postgres, 2, LOG_FORMAT="json")
    wait_acquainted(brokers)
    for broker in brokers:
        wait_until(lambda b=broker: '"info","message":"a broker is there"' in b.log())


# ---- what is told


def test_a_push_on_one_wakes_a_poll_on_the_other(two, queue):
    _, here, there, _ = two
    wait_acquainted([here, there])
    push(there, queue, 0, partition="p")
    for where in (here, there):
        assert len(pop(where, queue, autoAck="true")) == (1 if where is here else 0)
    received = hints(here, "received")
    poll = Poll(here, queue, autoAck="true")
    wait_awaited(there)
    push(there, queue, 1, partition="p")
    assert poll.data() == [1]
    wait_until(lambda: hints(here, "received") == received + 1)


def test_a_poll_for_a_partition_that_is_not_there_yet(two, queue):
    """By its name: the waiter has no id to compare."""
    _, here, there, _ = two
    push(there, queue, 0)
    assert len(pop(here, queue, autoAck="true")) == 1
    reply = []
    path = f"/api/v1/pop/queue/{queue}/partition/new?consumerGroup=g&wait=true&timeout=30000"
    waiter = threading.Thread(target=lambda: reply.append(here.get(path, timeout=60)))
    waiter.start()
    wait_awaited(there)
    push(there, queue, 1, partition="new")
    waiter.join()
    assert [message["data"] for message in reply[0].json()["messages"]] == [1]


def test_a_freed_partition_wakes_a_poll_on_the_other(two, queue):
    _, here, there, _ = two
    push(there, queue, 1, 2)
    first = pop(there, queue)[0]
    assert pop(here, queue) == []
    received = hints(here, "received")
    poll = Poll(here, queue)
    wait_awaited(there)
    assert there.post("/api/v1/ack", ack_of(first, consumerGroup="g")).json()[0]["success"]
    assert poll.data() == [2]
    wait_until(lambda: hints(here, "received") == received + 1)


def test_nobody_is_told_who_does_not_wait(two, queue):
    _, here, there, _ = two
    push(there, queue, 0)
    poll = Poll(here, queue, consumerGroup="other")
    assert poll.data() == [0]
    wait_awaited(there, 0)
    sent = hints(there, "sent")
    poll = Poll(here, queue + "-another")
    wait_awaited(there)
    push(there, queue, *range(10))
    push(there, queue, 1, partition="p")
    assert hints(there, "sent") == sent
    push(there, queue + "-another", 1)
    assert poll.data() == [1]
    assert hints(there, "sent") == sent + 1


def test_nobody_is_told_of_what_a_consumer_here_takes(two, queue):
    _, here, there, _ = two
    push(there, queue, 0)
    assert len(pop(here, queue, autoAck="true")) == 1 and pop(there, queue, autoAck="true") == []
    far = Poll(here, queue, autoAck="true")
    wait_awaited(there)
    near = Poll(there, queue, autoAck="true")
    wait_until(lambda: shared_state(there)["consumer_presence"])
    sent = hints(there, "sent")
    push(there, queue, 1)
    wait_until(lambda: near.messages or far.messages)
    assert hints(there, "sent") == sent
    push(there, queue, 2)
    assert sorted(near.data() + far.data()) == [1, 2]


def test_a_thousand_partitions_are_told_in_few_packets(two, queue):
    _, here, there, wire = two
    push(there, queue, 0)
    assert len(pop(here, queue, autoAck="true")) == 1
    poll = Poll(here, queue, autoAck="true")
    wait_awaited(there)
    wire.seen.clear()
    sent = hints(there, "sent")
    reply = there.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": f"partition {number}", "payload": number} for number in range(1000)]})
    assert reply.status == 201 and len(poll.data()) == 1
    told = hints(there, "sent") - sent
    assert told >= 900, "a few may have been pushed when nobody was known to wait"
    with_hints = [data for sender, data in wire.seen if b"partition " in data]
    assert len(with_hints) < 100 and max(len(data) for data in with_hints) <= 1200


def test_who_begins_to_wait_is_told_alone(two, queue):
    """However many wait already: those are told with the heartbeat."""
    _, here, there, wire = two
    wait_acquainted([here, there])
    groups, polls = 200, 50
    with waiting(here, queue, groups):
        wait_awaited(there, groups)
        wire.seen.clear()
        begun = time.monotonic()
        for number in range(polls):
            pop(here, queue, consumerGroup=f"new{number}", wait="true", timeout=20)
        heartbeats = time.monotonic() - begun + 2
        sent = [udp.kinds(data) for sender, data in list(wire.seen) if sender[1] == here.udp_port]
    assert sum(udp.PRESENCE_ADDED in kinds for kinds in sent) >= polls // 2
    parts = (groups + polls) // 60 + 1
    assert sum(udp.PRESENCE in kinds for kinds in sent) <= heartbeats * parts, sent
    assert len(sent) <= heartbeats * (parts + 1) + polls, sent
    wait_awaited(there, 0)


@pytest.mark.parametrize("kind", ["", "/pop"])
def test_a_switch_of_maintenance_is_told_and_read(two, kind):
    _, here, there, wire = two
    wait_acquainted([here, there])
    path = f"/api/v1/system/maintenance{kind}"
    field = "popMaintenanceMode" if kind else "maintenanceMode"
    for enabled in (True, False):
        wire.seen.clear()
        assert there.post(path, {"enabled": enabled}).status == 200
        wait_until(lambda: here.get(path).json()[field] == enabled)
        told = udp.record(udp.MAINTENANCE_CHANGED)
        wait_until(lambda: any(told in data for sender, data in wire.seen if sender[1] == there.udp_port))


def test_a_changed_queue_is_told_and_read(two, queue):
    """The waiter is held by a delay; when the option is changed through the other broker it is served."""
    _, here, there, wire = two
    assert there.post("/api/v1/configure", {"queue": queue, "options": {"delayedProcessing": 600}}).status == 200
    push(there, queue, 1)
    assert pop(here, queue) == []
    poll = Poll(here, queue)
    wait_awaited(there)
    wire.seen.clear()
    assert there.post("/api/v1/configure", {"queue": queue, "options": {"delayedProcessing": 0}}).status == 200
    assert poll.data() == [1]
    told = udp.record(udp.QUEUE_CHANGED, udp.name(queue))
    assert any(told in data for sender, data in wire.seen if sender[1] == there.udp_port)


# ---- what must not be heard


def test_forged_replayed_and_broken_packets_are_counted_and_dropped(two, queue):
    """Whoever does not know the secret can say nothing, whatever he has recorded."""
    _, here, there, wire = two
    wait_acquainted([here, there])
    end = ("127.0.0.1", here.udp_port)
    wire.seen.clear()
    recorded = wait_until(lambda: [data for sender, data in wire.seen if sender[1] == there.udp_port])
    on = udp.record(udp.MAINTENANCE_CHANGED)
    for why, data in [
            ("forged", udp.packet(on, secret="guessed")),
            ("forged", recorded[-1][:-1]),
            ("forged", recorded[-1][:40] + bytes([recorded[-1][40] ^ 1]) + recorded[-1][41:]),
            ("truncated", recorded[-1][:30]),
            ("truncated", b"QNP\1"),
            ("malformed", b""),
            ("malformed", b"hello"),
            ("malformed", udp.packet(b"\6\0\1")),
            ("other_version", udp.packet(on, version=0)),
            ("other_version", udp.packet(on, version=2)),
            ("replayed", recorded[-1]),
            ("not_acquainted", udp.packet(on))]:  # the secret, but a session that has shown no ticket
        before = dropped(here, why)
        received = hints(here, "received")
        wire.send(end, data)
        wait_until(lambda w=why, b=before: dropped(here, w) > b, what=f"{why} to be counted")
        assert hints(here, "received") == received
    assert re.search(rf"warn .*QUEEN_SYNC_SECRET from=127.0.0.1:{wire.port}", here.log())
    assert len(peers(here)) == 1
    assert not here.get("/api/v1/system/maintenance").json()["maintenanceMode"]

    # Also from another place, which the broker would answer but never believe.
    known = len(shared_state(here)["peers"])
    stranger = udp.Wire([here.udp_port, 1])
    try:
        before = dropped(here, "not_acquainted")
        stranger.send(end, recorded[-1])
        wait_until(lambda: dropped(here, "not_acquainted") > before)
        assert len(peers(here)) == 1 and len(shared_state(here)["peers"]) <= known + 1
    finally:
        stranger.close()


def test_a_recorded_packet_from_other_addresses_brings_no_more_than_it_is(postgres, make_cluster, make_broker, closing):
    """Whoever sends it under the addresses of others does not flood them, nor keep a new broker out."""
    name_the_wire, wires = name_one_wire(closing)
    here, there = make_cluster(postgres, 2, name_the_wire)
    wire = wires[0]
    wait_acquainted([here, there])

    def from_here():
        return sum(sender[1] == here.udp_port for sender, _ in list(wire.seen))

    with waiting(here, "q", 200):
        wait_awaited(there, 200)
        recorded = [data for sender, data in wire.seen
                    if sender[1] == there.udp_port and udp.kinds(data)[0] == udp.HEARTBEAT][-1]
        strangers = [closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in range(64)]
        for stranger in strangers:
            stranger.setblocking(False)
            stranger.sendto(recorded, ("127.0.0.1", here.udp_port))
        wait_until(lambda: len(shared_state(here)["peers"]) == 64)
        before = from_here()
        wait_until(lambda: from_here() > before + 12, what="three heartbeats with what is waited for")
        for stranger in strangers:
            came = []
            with contextlib.suppress(BlockingIOError):
                while True:
                    came.append(len(stranger.recv(65536)))
            assert sum(came) <= len(recorded), came
    new = make_broker("--num-workers", "2", env=postgres.env() | {
        "QUEEN_UDP_PEERS": f"127.0.0.1:{here.udp_port}", "QUEEN_UDP_NOTIFY_PORT": "0",
        "QUEEN_SYNC_SECRET": udp.SECRET}).start()
    wait_acquainted([new], 1)
    wait_acquainted([here], 2)


def test_what_was_recorded_before_a_restart_is_of_no_use(postgres, make_cluster, closing):
    name_the_wire, wires = name_one_wire(closing)
    here, there = make_cluster(postgres, 2, name_the_wire)
    wire = wires[0]
    wait_acquainted([here, there])
    push(there, "q", 0)
    assert len(pop(here, "q", autoAck="true")) == 1
    poll = Poll(here, "q", autoAck="true")
    wait_awaited(there)
    push(there, "q", 1)
    assert poll.data() == [1]
    recorded = [data for sender, data in wire.seen if sender[1] == there.udp_port and b"Default" in data]
    assert recorded
    here.kill9()
    here.start()
    for data in recorded:
        wire.send(("127.0.0.1", here.udp_port), data)
    wait_until(lambda: dropped(here, "not_acquainted") >= len(recorded))
    wait_acquainted([here, there])
    for data in recorded:
        before = dropped(here, "not_acquainted")
        wire.send(("127.0.0.1", here.udp_port), data)
        wait_until(lambda b=before: dropped(here, "not_acquainted") > b)
    assert hints(here, "received") == 0


# ---- packets are lost


def test_without_a_single_packet_a_poll_is_served_by_its_own_checks(two, queue):
    _, here, there, wire = two
    push(there, queue, 0)
    assert len(pop(here, queue, autoAck="true")) == 1
    wire.cut = True
    try:
        received = hints(here, "received")
        for number in range(3):
            poll = Poll(here, queue, autoAck="true")
            wait_until(lambda: shared_state(here)["consumer_presence"])
            push(there, queue, number)
            assert poll.data() == [number]
        wait_until(lambda: len(peers(here, "dead")) == 1 and len(peers(there, "dead")) == 1)
        assert here.get("/health").status == 200 and hints(here, "received") == received
    finally:
        wire.cut = False
    wait_acquainted([here, there])
    poll = Poll(here, queue, autoAck="true")
    wait_awaited(there)
    push(there, queue, 9)
    assert poll.data() == [9]
    wait_until(lambda: hints(here, "received") == received + 1)


def test_half_of_the_packets_lost_and_the_others_twice(two, queue):
    _, here, there, wire = two
    wait_acquainted([here, there])
    wire.loss, wire.twice = 0.5, True
    try:
        push(there, queue, -1)
        assert len(pop(here, queue, autoAck="true")) == 1
        for number in range(10):
            poll = Poll(here, queue, autoAck="true")
            push(there, queue, number, partition=f"p{number % 3}")
            assert poll.data() == [number]
    finally:
        wire.loss, wire.twice = 0.0, False
    assert dropped(here, "replayed") > 0


# ---- leases and fairness


def test_a_lease_taken_through_one_is_served_by_the_other(two, queue):
    _, here, there, _ = two
    push(here, queue, 1, 2, 3)
    first, second, third = pop(here, queue, batch=3, leaseTime=30)
    reply = there.post(f"/api/v1/lease/{first['leaseId']}/extend", {"seconds": 60})
    assert reply.status == 200, reply
    assert there.post("/api/v1/ack", ack_of(first, consumerGroup="g")).json()[0]["success"]
    assert there.post("/api/v1/ack", ack_of(second, "failed", consumerGroup="g")).json()[0]["success"]
    assert there.post("/api/v1/ack", ack_of(third, consumerGroup="g")).json()[0]["success"]
    again = pop(here, queue)
    assert [(message["data"], message["retryCount"]) for message in again] == [(2, 1)]
    assert here.post("/api/v1/ack", ack_of(again[0], consumerGroup="g")).json()[0]["success"]
    assert pop(here, queue) == [] and pop(there, queue) == []


def test_what_a_killed_broker_had_leased_is_delivered_by_another(postgres, make_cluster):
    one, two_, three = make_cluster(postgres, 3)
    wait_acquainted([one, two_, three])
    push(two_, "q", *range(5))
    assert len(pop(one, "q", batch=5, leaseTime=2)) == 5
    poll = Poll(three, "q", batch=5)
    one.kill9()
    assert poll.data() == list(range(5))


def test_consumers_on_both_brokers_share_the_work(two, queue):
    """Two consumers on each, each busy with a message for a moment: nobody is left without work."""
    _, here, there, _ = two
    messages = 400
    shares = {broker.url: 0 for broker in (here, there)}
    lock = threading.Lock()
    done = threading.Event()

    def consume(broker):
        while not done.is_set():
            for message in pop(broker, queue, wait="true", timeout=500):
                time.sleep(0.005)  # its work
                assert broker.post("/api/v1/ack", ack_of(message, consumerGroup="g")).status == 200
                with lock:
                    shares[broker.url] += 1
                    if sum(shares.values()) == messages:
                        done.set()

    push(there, queue, "first")
    assert len(pop(there, queue, autoAck="true")) == 1
    consumers = [threading.Thread(target=consume, args=(broker,)) for broker in (here, there) for _ in range(2)]
    for consumer in consumers:
        consumer.start()
    for number in range(0, messages, 20):  # all through one of them
        there.post("/api/v1/push", {"items": [
            {"queue": queue, "partition": f"p{(number + i) % 40}", "payload": number + i} for i in range(20)]})
    assert done.wait(60), shares
    for consumer in consumers:
        consumer.join()
    assert min(shares.values()) >= messages // 5, shares
