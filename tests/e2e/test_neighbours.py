"""I7: one caller's bad input never changes another caller's outcome, though their work shares a batch; nor does
a batch that hangs keep others waiting."""

import concurrent.futures
import http.client
import threading

import pytest

from support.acks import ack_of
from support.process import wait_until
from support.psql_session import PsqlSession

CALLERS = 32
ROUNDS = 8


@pytest.fixture
def broker(postgres, make_broker):
    return make_broker("--num-workers", "2", env=postgres.env()).start()


def raw_push(broker, body):
    connection = http.client.HTTPConnection(broker.host, broker.port, timeout=60)
    connection.request("POST", "/api/v1/push", body)
    reply = connection.getresponse()
    text = reply.read()
    connection.close()
    return reply.status, text


def all_at_once(bodies, send):
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(send, bodies))


def drain(broker, queue):
    """The payloads of a queue."""
    got = []
    while (reply := broker.get(f"/api/v1/pop/queue/{queue}?batch=1000&partitions=100&autoAck=true")).status == 200:
        got += [message["data"] for message in reply.json()["messages"]]
    return got


def body_of(queue, number, payload):
    return b'{"items":[{"queue":"%s","partition":"p%d","payload":%s}]}' % (queue.encode(), number % 4, payload)


def test_what_is_no_utf8_or_no_json_is_refused_alone(broker):
    bad = [b'"\xff\xfe"', b'{"a":01}', b'"\xed\xa0\x80"', b'[1,', b'"\x00"']
    good = 0
    for turn in range(ROUNDS):
        bodies = [body_of("utf8", n, bad[n % len(bad)] if n % 3 == 0 else b"%d" % (turn * CALLERS + n))
                  for n in range(CALLERS)]
        replies = all_at_once(bodies, lambda body: raw_push(broker, body))
        for n, (status, text) in enumerate(replies):
            assert status == (400 if n % 3 == 0 else 201), (n, status, text)
            good += n % 3 != 0
    assert len(drain(broker, "utf8")) == good


def test_what_postgresql_refuses_fails_its_own_caller_only(postgres, broker):
    assert broker.post("/api/v1/push", {"items": [{"queue": "refused", "payload": "first"}]}).status == 201
    postgres.psql("""
        CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.payloads LIKE '%poison%' THEN RAISE EXCEPTION 'poisoned' USING ERRCODE = '22000'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER poison BEFORE INSERT ON queen.segments FOR EACH ROW EXECUTE FUNCTION poison();""")
    stored = 1
    for turn in range(ROUNDS):
        bodies = [body_of("refused", n, b'"poison"' if n % 5 == 0 else b"%d" % (turn * CALLERS + n))
                  for n in range(CALLERS)]
        replies = all_at_once(bodies, lambda body: raw_push(broker, body))
        for n, (status, text) in enumerate(replies):
            if n % 5 == 0:
                assert b"queued" not in text, (n, status, text)
            else:
                assert status == 201 and b'"status":"queued"' in text, (n, status, text)
                stored += 1
    assert len(drain(broker, "refused")) == stored


HANG = """
    CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF {condition} THEN PERFORM pg_advisory_xact_lock(1); END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER hang BEFORE INSERT ON queen.{table} FOR EACH ROW EXECUTE FUNCTION hang();"""


@pytest.fixture
def patient_broker(postgres, make_broker):
    """Gives up nothing that hangs while a test runs."""
    return make_broker("--num-workers", "2", env=dict(
        postgres.env(), DB_LOCK_TIMEOUT="600000", DB_STATEMENT_TIMEOUT="600000", DB_IN_FLIGHT_DEADLINE_MS="900000")).start()


def beside_one_that_hangs(postgres, hanging, other):
    """Sends the first, whose batch hangs in PostgreSQL, then the other, and returns what that is answered."""
    holder = PsqlSession(postgres)
    holder.run("SELECT pg_advisory_lock(1)")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        first = pool.submit(hanging)
        try:
            wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != "0",
                       60, "the batch to hang")
            answered = other()
            assert not first.done()
        finally:
            holder.close()
        assert first.result().status in (200, 201), first.result()
    return answered


def test_a_push_does_not_wait_for_a_batch_that_hangs(postgres, patient_broker):
    def push(partition):
        return patient_broker.post("/api/v1/push", {"items": [{"queue": "hang", "partition": partition, "payload": partition}]})
    for partition in "ab":
        assert push(partition).status == 201
    postgres.psql(HANG.format(table="segments", condition="NEW.payloads LIKE '%a%'"))
    assert beside_one_that_hangs(postgres, lambda: push("a"), lambda: push("b")).status == 201


def test_a_push_does_not_wait_for_a_transaction_that_waits_for_another_partition(postgres, patient_broker):
    """Somebody pushes to one of its partitions in SQL and does not commit."""
    def item(partition):
        return {"queue": "held", "partition": partition, "payload": partition}
    for partition in "ab":
        assert patient_broker.post("/api/v1/push", {"items": [item(partition)]}).status == 201
    holder = PsqlSession(postgres)
    holder.run("BEGIN")
    holder.run("SELECT queen.push('held', '1', 'b')")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(patient_broker.post, "/api/v1/transaction", {"operations": [
            {"type": "push", "items": [item("a"), item("b")]}]}, timeout=60)
        try:
            wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted") != "0",
                       60, "the transaction to wait")
            for _ in range(3):
                assert patient_broker.post("/api/v1/push", {"items": [item("a")]}, timeout=60).status == 201
            assert not waiting.done()
        finally:
            holder.close()
        assert waiting.result().json()["success"] is True, waiting.result()


@pytest.mark.parametrize("searchers", [0, 3])
def test_an_ack_does_not_wait_for_a_batch_that_hangs(postgres, patient_broker, searchers):
    """Nor for acks that come all the time and have to be looked up first."""
    messages = {}
    for partition in "ab":
        assert patient_broker.post("/api/v1/push", {"items": [
            {"queue": "hang", "partition": partition, "payload": partition}]}).status == 201
        reply = patient_broker.get(f"/api/v1/pop/queue/hang/partition/{partition}")
        messages[partition] = reply.json()["messages"][0]

    def ack(partition, **more):
        return patient_broker.post("/api/v1/ack", ack_of(messages[partition]) | more)

    ended = threading.Event()

    def search():
        while not ended.is_set():
            assert not ack("b", transactionId="never pushed").json()[0]["success"]
    postgres.psql(HANG.format(
        table="progress", condition="NEW.partition_id = (SELECT id FROM queen.partitions WHERE name = 'a')"))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        searches = [pool.submit(search) for _ in range(searchers)]
        try:
            assert beside_one_that_hangs(postgres, lambda: ack("a"), lambda: ack("b")).json()[0]["success"]
        finally:
            ended.set()
        for each in searches:
            each.result()
