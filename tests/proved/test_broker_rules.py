"""The proved rules that the broker keeps itself, seen from outside: each test fails when its rule is taken
out of the source (broker_rules.py says how; tests/proved/take_out does it). Here: with the rules in they
pass, and the places where they are taken out are still there."""

import json
import os
import socket
import threading
import time
import uuid

import pytest

import broker_rules
from support.psql_session import PsqlSession
from rule import REPOSITORY, edited
from support.process import wait_until
from wire_proxy import WireProxy

PUSH = "/api/v1/push"


class Asked:
    """A request under way; its answer comes with result()."""

    def __init__(self, ask):
        self._answers = []
        self._thread = threading.Thread(target=lambda: self._answers.append(ask()))
        self._thread.start()

    def result(self):
        self._thread.join(60)
        assert self._answers, "no answer"
        return self._answers[0]


@pytest.fixture
def session(postgres, closing):
    """session() -> PsqlSession."""
    return lambda: closing(PsqlSession(postgres))


@pytest.fixture
def broker(postgres, make_broker):
    """One worker: what a test sends second is considered second."""
    return make_broker("--num-workers", "1", env=postgres.env()).start()


@pytest.fixture
def proxy(postgres, closing):
    return closing(WireProxy(postgres.host, postgres.port))


@pytest.fixture
def proxied(postgres, proxy, make_broker):
    """A broker that reaches PostgreSQL through `proxy`."""
    return make_broker("--num-workers", "1", env=postgres.env(proxy.host, proxy.port)).start()


def item(queue, payload, partition="Default", **more):
    return {"queue": queue, "partition": partition, "payload": payload, **more}


def push(broker, *items):
    reply = broker.post(PUSH, {"items": list(items)}, timeout=60)
    assert reply.status == 201, reply
    return reply.json()


def sent(broker, *items):
    """The connection of a push that has been sent when this returns; the answer is for the caller to read."""
    body = json.dumps({"items": list(items)}).encode()
    connection = socket.create_connection((broker.host, broker.port))
    connection.settimeout(30)
    connection.sendall(b"POST /api/v1/push HTTP/1.1\r\nHost: queen\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
    return connection


def stored(postgres, queue, partition="Default"):
    """The payloads of a partition in their order."""
    return json.loads(postgres.psql(
        "SELECT coalesce(json_agg(payload ORDER BY seq), '[]') FROM queen.messages "
        f"WHERE queue = '{queue}' AND partition = '{partition}'"))


def lose_connections(postgres, broker):
    """Every connection of the broker ends, and it has noticed."""
    def sessions():
        return set(postgres.psql("SELECT pid FROM pg_stat_activity WHERE application_name = 'queen'").split())
    before = sessions()
    postgres.terminate_backends()
    wait_until(lambda: sessions() and not sessions() & before, 30, "new connections")
    broker.wait_for("/readyz", 200)


@pytest.mark.parametrize("rule", broker_rules.RULES, ids=lambda rule: rule.name)
def test_the_place_of_the_rule_is_there(rule):
    assert edited(rule.edits)
    for test in rule.tests:
        file, name = test.split("::")
        with open(os.path.join(REPOSITORY, file), encoding="utf-8") as source:
            text = source.read()
        assert (f"def {name}(" if file.endswith(".py") else f", {name})") in text, test


def test_a_busy_partition_holds_up_only_itself(proxied, proxy, postgres, session):
    push(proxied, item("busy", 0, "a"), item("busy", 0, "b"))
    outside = session()
    outside.run("""BEGIN; SELECT queen.push('busy', '"outside"', 'a')""")
    both = Asked(lambda: proxied.post(PUSH, {"items": [item("busy", 1, "a"), item("busy", 1, "b")]}, timeout=60))
    wait_until(lambda: stored(postgres, "busy", "b") == [0, 1], 20, "the neighbour of a busy partition")
    with sent(proxied, item("busy", 2, "a")) as later:
        push(proxied, item("busy", 2, "b"))
        proxy.record()
        wait_until(lambda: proxy.groups().count(["push_messages"]) >= 3, 30, "the busy partition to be tried again")
        outside.run("COMMIT")
        assert both.result().status == 201 and later.recv(12) == b"HTTP/1.1 201"
    assert stored(postgres, "busy", "a") == [0, "outside", 1, 2], "later items stay behind the busy ones"


def test_a_busy_partition_is_given_up_at_the_deadline(broker, postgres, session):
    push(broker, item("stuck", 0))
    outside = session()
    outside.run("BEGIN; SELECT queen.push('stuck', '1')")
    reply = broker.post(PUSH, {"items": [item("stuck", 2)]}, timeout=60)
    assert reply.status == 503 and "busy for too long" in reply.json()["error"], reply
    outside.run("COMMIT")
    push(broker, item("stuck", 3))
    assert stored(postgres, "stuck") == [0, 1, 3], "what was refused is not stored"


def test_a_partition_is_in_one_batch_at_a_time(proxied, proxy, postgres):
    push(proxied, item("order", 0), item("order", 0, "other"))
    proxy.hold(b'"first"')
    first = Asked(lambda: proxied.post(PUSH, {"items": [item("order", "first")]}, timeout=60))
    proxy.wait_held()
    with sent(proxied, item("order", "second")) as second:
        for number in range(5):  # the broker has gone round since
            push(proxied, item("order", number, "other"))
        proxy.release()
        assert first.result().status == 201
        assert second.recv(12) == b"HTTP/1.1 201"
    assert stored(postgres, "order") == [0, "first", "second"]


@pytest.mark.parametrize("timed", (True, False), ids=("timed", "untimed"))
def test_memory_only_says_what_need_not_be_asked(broker, postgres, timed):
    txn = f"{int(time.time() * 1000) >> 16:08x}-{int(time.time() * 1000) & 0xffff:04x}-7000-8000-{uuid.uuid4().hex[:12]}"
    txn = txn if timed else str(uuid.uuid4())
    first, = push(broker, item("twice", 1, transactionId=txn))
    again, = push(broker, item("twice", 2, transactionId=txn))
    assert (first["status"], again["status"]) == ("queued", "duplicate")
    assert again["message_id"] == first["message_id"]
    # Retention has taken the message: the broker still remembers the id, the log does not.
    postgres.psql("UPDATE queen.segments SET payloads = NULL, txns = NULL, meta = NULL")
    third, = push(broker, item("twice", 3, transactionId=txn))
    assert third["status"] == "queued" and stored(postgres, "twice") == [3]


def test_a_lost_connection_drops_the_segments_in_memory(broker, postgres):
    push(broker, item("back", "before"), item("kept", "before"))
    # Another history under the same keys, as after a failover to a server that is behind.
    rewrite = "UPDATE queen.segments SET payloads = replace(payloads, 'before', 'after')"
    postgres.psql(rewrite)
    kept = broker.get("/api/v1/pop/queue/kept").json()["messages"]
    assert kept[0]["data"] == "before", "served from memory, so this test can see it dropped"
    lose_connections(postgres, broker)
    assert broker.get("/api/v1/pop/queue/back").json()["messages"][0]["data"] == "after"


@pytest.mark.parametrize("timed", (True, False), ids=("timed", "untimed"))
def test_a_lost_connection_drops_the_ids_in_memory(broker, postgres, timed):
    now = int(time.time() * 1000)
    ids = [f"{now >> 16:08x}-{now & 0xffff:04x}-7000-8000-{number:012x}" if timed else f"order-{number}" for number in range(2)]
    push(broker, item("ids", 0, transactionId=ids[0]))
    postgres.psql(f"UPDATE queen.segments SET txns = '{ids[1]}'")
    lose_connections(postgres, broker)
    reply, = push(broker, item("ids", 1, transactionId=ids[1]))
    assert reply["status"] == "duplicate"


def test_one_call_per_sync(proxied, proxy):
    push(proxied, item("wire", 0))  # names and statements are known
    proxy.record()
    push(proxied, *[item("wire", number) for number in range(3)])
    popped = proxied.get("/api/v1/pop/queue/wire?batch=2").json()
    place = {"partitionId": popped["partitionId"], "leaseId": popped["leaseId"]}
    assert proxied.post(f"/api/v1/lease/{popped['leaseId']}/extend", {"seconds": 100}).status == 200
    one, two = popped["messages"]
    assert proxied.post("/api/v1/ack", dict(place, transactionId=one["transactionId"], status="failed")).status == 200
    assert proxied.post("/api/v1/transaction", {"operations": [
        dict(place, type="ack", transactionId=two["transactionId"]),
        {"type": "push", "items": [item("wire", "moved")]}]}).json()["success"]
    assert proxied.get("/api/v1/pop/queue/wire?autoAck=true").status == 200
    groups = [group for group in proxy.groups() if group]
    alone = {"push_messages", "load_lanes", "append_leases", "renew_lease", "append_verdicts", "execute_transaction",
             "pop_sm_fetch"}
    seen = {name for group in groups for name in group}
    assert alone - seen <= {"pop_sm_fetch"}, seen
    assert [group for group in groups if alone & set(group) and len(group) > 1] == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_push_in_doubt_is_resolved_before_it_is_answered(proxied, proxy, postgres, session, committed):
    push(proxied, item("doubt", 0), item("doubt", 0, "p"))
    blocker = session()
    blocker.run("BEGIN; LOCK TABLE queen.segments IN SHARE ROW EXCLUSIVE MODE")
    asked = Asked(lambda: proxied.post(PUSH, {"items": [item("doubt", 1), item("doubt", 2), item("doubt", 3, "p")]},
                                       timeout=60))
    wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE relation = 'queen.segments'::regclass "
                                     "AND NOT granted") != "0", 30, "the push to wait")
    if committed:
        proxy.freeze(replies_only=True)
        blocker.run("COMMIT")
        wait_until(lambda: stored(postgres, "doubt", "p") == [0, 3], 30, "the commit")
        proxy.cut()
        proxy.forward()
    else:
        proxy.cut()
        postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = 'queen.segments'::regclass "
                      "AND NOT granted", role="postgres")
        blocker.run("COMMIT")
    reply = asked.result()
    assert reply.status == 201 and [outcome["status"] for outcome in reply.json()] == ["queued"] * 3, reply
    assert stored(postgres, "doubt") == [0, 1, 2] and stored(postgres, "doubt", "p") == [0, 3], "nothing twice"
    ids = postgres.psql("SELECT id FROM queen.messages WHERE payload::text <> '0' ORDER BY payload::text").split()
    assert [outcome["message_id"] for outcome in reply.json()] == ids


def test_a_lease_in_doubt_is_asked_for_again_by_its_id(proxied, proxy, postgres):
    push(proxied, item("lease", 1))
    assert proxied.get("/api/v1/pop/queue/lease?consumerGroup=warm").status == 200
    proxy.freeze(replies_only=True)
    asked = Asked(lambda: proxied.get("/api/v1/pop/queue/lease/partition/Default?wait=true&timeout=20000", timeout=60))
    # Each of its round trips needs an answer, until the one that leases.
    def leased():
        if postgres.psql("SELECT count(*) FROM queen.progress r JOIN queen.groups g ON g.id = r.group_id "
                         "WHERE g.name <> 'warm' AND r.lease_id IS NOT NULL") != "0":
            return True
        proxy.forward()
        proxy.freeze(replies_only=True)
        return False
    wait_until(leased, 30, "the lease", interval=0.2)
    proxy.cut()
    proxy.forward()
    reply = asked.result()
    assert reply.status == 200, reply
    message = reply.json()["messages"][0]
    assert message["data"] == 1
    ack = {"transactionId": message["transactionId"], "leaseId": reply.json()["leaseId"],
           "partitionId": message["partitionId"]}
    # 503 until the worker that takes the ack has a connection again too.
    acked = wait_until(lambda: (answer := proxied.post("/api/v1/ack", ack)).status != 503 and answer, 30, "the ack")
    assert acked.status == 200 and acked.json()[0]["success"], acked


def test_an_empty_ring_is_confirmed_by_the_database(broker, postgres):
    push(broker, item("ring", 0))
    assert broker.get("/api/v1/pop/queue/ring?autoAck=true").status == 200
    assert broker.get("/api/v1/pop/queue/ring?autoAck=true").status == 204
    postgres.psql("SELECT queen.push('ring', '1')")
    reply = broker.get("/api/v1/pop/queue/ring?autoAck=true")
    assert reply.status == 200 and reply.json()["messages"][0]["data"] == 1


def test_a_refusal_from_memory_is_looked_up(broker, make_broker, postgres):
    """The lease that this broker remembers has ended elsewhere."""
    push(broker, item("held", 1))
    push(broker, item("held", 2))
    path = "/api/v1/pop/queue/held/partition/Default?leaseTime=600"
    first = broker.get(path).json()["messages"][0]
    assert broker.get(path).status == 204
    other = make_broker("--num-workers", "1", env=postgres.env()).start()
    acked = other.post("/api/v1/ack", {"transactionId": first["transactionId"], "leaseId": first["leaseId"],
                                       "partitionId": first["partitionId"]})
    assert acked.status == 200 and acked.json()[0]["success"], acked
    reply = broker.get(path)
    assert reply.status == 200 and reply.json()["messages"][0]["data"] == 2, reply


def test_what_memory_does_not_list_is_looked_up(broker, postgres):
    push(broker, item("more", 0))
    path = "/api/v1/pop/queue/more/partition/Default?autoAck=true&batch="
    assert [message["data"] for message in broker.get(path + "1").json()["messages"]] == [0]
    push(broker, item("more", 1))
    postgres.psql("SELECT queen.push('more', '2')")  # which the broker did not store
    push(broker, item("more", 3))
    assert [message["data"] for message in broker.get(path + "10").json()["messages"]] == [1, 2, 3]
