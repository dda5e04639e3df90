"""I9: on the push, pop and ack paths rows are only inserted. Every kind of operation runs while each update
of a row of the hot tables is noted.

A seek is no hot path, and appends all the same; what it updates is the group's own row (queen.groups), once.
The state of streaming queries (queen.stream_state) is the client's own key-value table: a cycle overwrites
its rows, because that is what was asked for."""

import pytest

from support.acks import ack_of
from support.leaving_client import LeavingClient

HOT = ("segments", "progress", "batches", "dedup", "dedup_hashes", "dead_letters", "group_starts")
NOTE = """
    CREATE TABLE public.updates (what text, statement text);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO public.updates VALUES (TG_TABLE_NAME, current_query());
        RETURN NEW;
    END $$;
"""


@pytest.fixture(scope="module")
def noting(two_brokers):
    """(Postgres, Broker), with every update of a row noted."""
    postgres, broker, _ = two_brokers
    triggers = "".join(f"CREATE TRIGGER note BEFORE UPDATE ON queen.{table} FOR EACH ROW EXECUTE FUNCTION public.note();"
                       for table in HOT)
    postgres.psql(NOTE + triggers)
    return postgres, broker


@pytest.fixture
def broker(noting):
    """At the end of the test there must be no update."""
    postgres, broker = noting
    yield broker
    assert postgres.psql("SELECT what, statement FROM public.updates") == ""


def push(broker, queue, count=3, partitions=1, **more):
    """`count` messages to each of `partitions`."""
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": f"p{number % partitions}", "payload": number} | more
        for number in range(count * partitions)]})
    assert reply.status == 201 and {item["status"] for item in reply.json()} == {"queued"}


def pop(broker, queue, **options):
    """The messages of one pop."""
    query = "&".join(f"{name}={value}" for name, value in ({"batch": 100, "partitions": 10} | options).items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}")
    return reply.json()["messages"] if reply.status == 200 else []


def ack(broker, messages, status="completed", **more):
    """All of them in one call."""
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [ack_of(m, status, **more) for m in messages]})
    assert reply.status == 200 and all(outcome["success"] for outcome in reply.json()), reply.json()


def test_pushes_pops_and_acks(broker):
    for number, status in enumerate(("completed", "failed", "dlq", "retry")):
        queue = f"hot{number}"
        push(broker, queue, partitions=5)
        messages = pop(broker, queue)
        assert len(messages) == 15
        assert broker.post(f"/api/v1/lease/{messages[0]['leaseId']}/extend", {}).status == 200
        one = broker.post("/api/v1/ack", ack_of(messages[0], status)).json()[0]
        assert one["success"]
        if status == "retry":  # has handed back everything of its partition
            messages = [message for message in messages if message["partition"] != messages[0]["partition"]]
        ack(broker, messages[1:], status)
    for _ in range(3):  # past the retryLimit: to the dead letters
        ack(broker, pop(broker, "hot1"), "failed")
    assert pop(broker, "hot1") == []
    ack(broker, pop(broker, "hot3"), "completed")
    assert len(pop(broker, "hot0", consumerGroup="late", autoAck="true")) == 15
    push(broker, "hot0")
    messages = pop(broker, "hot0")
    ack(broker, messages[-1:], cumulative=True)
    assert pop(broker, "hot0") == []
    duplicate = {"items": [{"queue": "hot0", "payload": 1, "transactionId": "same"}]}
    assert [broker.post("/api/v1/push", duplicate).json()[0]["status"] for _ in range(2)] == ["queued", "duplicate"]


def test_a_lease_that_is_given_back(noting, broker):
    """Because its client has left before it was there."""
    postgres, _ = noting
    push(broker, "back", 1)
    LeavingClient(broker, postgres, "/api/v1/pop/queue/back").unlock()
    assert len(pop(broker, "back", wait="true", timeout=60_000)) == 1


def test_transactions(broker):
    push(broker, "from")
    messages = pop(broker, "from")
    for message, status in zip(messages, ("completed", "failed", "dlq")):
        reply = broker.post("/api/v1/transaction", {"operations": [
            {"type": "ack"} | ack_of(message, status),
            {"type": "push", "items": [{"queue": "to", "payload": 1}, {"queue": "to", "partition": "p", "payload": 2}]}]})
        assert reply.json()["success"], reply.json()


def test_cycles_of_streaming_queries(broker):
    """With and without an ack, a push, state, and the end of the lease."""
    query = broker.post("/streams/v1/queries", {"name": "s", "source_queue": "in", "config_hash": "h"}).json()["query_id"]

    def cycle(partition, ack=None, **more):
        reply = broker.post("/streams/v1/cycle", {"query_id": query, "partition_id": partition, "ack": ack} | more)
        assert reply.status == 200 and reply.json()["success"], reply.json()
        return reply.json()

    for status in ("completed", "failed", "dlq", "retry"):
        for more in ({}, {"push_items": [{"queue": "out", "payload": 1}]}, {"state_ops": [{"type": "upsert", "key": "k", "value": 1}]}):
            push(broker, "in", 3)
            messages = pop(broker, "in", partitions=1)
            place = messages[0]["partitionId"]
            cycle(place, release_lease=False, **more)
            cycle(place, **more)
            if status == "completed":  # a gate that denies the tail
                cycle(place, {"transactionId": messages[0]["transactionId"], "leaseId": messages[0]["leaseId"]}, release_lease=False, **more)
                messages = messages[1:]
            last = messages[-1]
            applied = cycle(place, {"transactionId": last["transactionId"], "leaseId": last["leaseId"], "status": status}, **more)
            assert applied["ack_result"]["count"] == len(messages) and applied["ack_result"]["lease_released"]
            while left := pop(broker, "in"):
                ack(broker, left)


def test_seeks(broker):
    push(broker, "sought", partitions=5)
    pop(broker, "sought", consumerGroup="g")
    path = "/api/v1/consumer-groups/g/queues/sought"
    for body in ({"offset": 1}, {"timestamp": "2026-01-01T00:00:00Z"}, {"toEnd": True}):
        assert broker.post(f"{path}/seek", body).json()["partitionsUpdated"] == 5
    assert broker.post(f"{path}/partitions/p0/seek", {"offset": 0}).json()["partitionsUpdated"] == 1
    assert len(pop(broker, "sought", consumerGroup="g")) == 3
