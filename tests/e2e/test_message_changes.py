"""Messages deleted and dead letters pushed again while others consume, through another broker than the one whose
caches and rings know the lane."""

import os
import random
import threading
import time

import pytest

from support.acks import ack_of
from support.process import wait_until
from support.shared_state import waiting


@pytest.fixture
def queue(request):
    return request.node.name.replace("_", "-")


def push(broker, queue, payloads):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "payload": payload, "transactionId": f"t{payload}"} for payload in payloads]})
    assert reply.status == 201 and all(item["status"] == "queued" for item in reply.json()), reply


def pop(broker, queue, **options):
    query = "&".join(f"{name}={value}" for name, value in options.items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}")
    assert reply.status in (200, 204), reply
    return reply.json()["messages"] if reply.status == 200 else []


def ack(broker, messages, status="completed"):
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [ack_of(m, status) for m in messages],
                                              "consumerGroup": messages[0]["consumerGroup"]})
    assert reply.status == 200 and all(item["success"] for item in reply.json()), reply


def delete(broker, message, transaction_id):
    return broker.request("DELETE", f"/api/v1/messages/{message['partitionId']}/{transaction_id}").status


def test_a_cached_segment_does_not_deliver_what_another_broker_deleted(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(5))
    first = pop(here, queue)
    ack(here, first)
    assert delete(there, first[0], "t2") == 200
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true")] == [1, 3, 4]
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true", consumerGroup="other")] == [0, 1, 3, 4]


def test_a_lease_goes_on_without_what_is_deleted(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(4))
    leased = pop(here, queue, batch=3)
    assert delete(there, leased[0], "t1") == 200
    assert delete(there, leased[0], "t1") == 404
    ack(here, [leased[0], leased[1], leased[2]])  # an ack of what was deleted is as good as any second ack
    assert [m["data"] for m in pop(here, queue, batch=9)] == [3], "the lease has ended"


def test_a_redrive_wakes_who_waits_at_another_broker(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(2))
    ack(here, pop(here, queue, batch=2, consumerGroup="g"), "dlq")
    got = []
    waiter = threading.Thread(target=lambda: got.extend(pop(here, queue, wait="true", timeout=20000, batch=9, consumerGroup="g")))
    waiter.start()
    wait_until(lambda: waiting(here, queue) > 0, what="the pop to wait")
    reply = there.post("/api/v1/dlq/redrive", {"queue": queue})
    assert reply.status == 200 and reply.json()["redriven"] == 2 and not reply.json()["more"], reply
    waiter.join(30)
    assert [m["data"] for m in got] == [0, 1]
    ack(there, got)
    assert there.get(f"/api/v1/resources/queues/{queue}/partitions/Default/explain?consumerGroup=g").json()["cause"] == "empty"


def test_a_page_of_dead_letters_ends_at_eight_megabytes(two_brokers, queue):
    """The total is that of all, and the next page goes on where it ended."""
    _, here, _ = two_brokers
    payloads = [str(number) * 1_000_000 for number in range(10)]
    for number, payload in enumerate(payloads):
        reply = here.post("/api/v1/push", {"items": [{"queue": queue, "payload": payload, "transactionId": f"t{number}"}]})
        assert reply.status == 201, reply
    ack(here, pop(here, queue, batch=10, consumerGroup="g"), "dlq")
    pages = [here.get(f"/api/v1/dlq?queue={queue}&limit=100&offset={offset}").json() for offset in (0, 8)]
    assert [(page["total"], len(page["messages"])) for page in pages] == [(10, 8), (10, 2)]
    assert sorted(letter["data"] for page in pages for letter in page["messages"]) == payloads


def test_deletions_beside_pops_and_acks(two_brokers, queue):
    """No pop that begins after a deletion was answered delivers its message, and nothing waits for the end of a lease:
    it is an hour, and the lane is drained all the same."""
    _, here, there = two_brokers
    seed = int(os.environ.get("QUEEN_TEST_SEED", random.randrange(1 << 30)))
    print(f"seed {seed} (QUEEN_TEST_SEED replays it)")
    rng = random.Random(seed)
    count = 400
    assert here.post("/api/v1/configure", {"queue": queue, "options": {"leaseTime": 3600}}).status == 200
    push(here, queue, range(count))
    partition_id = here.get(f"/api/v1/messages?queue={queue}&limit=1").json()["messages"][0]["partitionId"]
    victims = rng.sample(range(count), count // 4)
    deleted_at, delivered, errors = {}, [], []
    done = threading.Event()

    def consume(broker, batch):
        try:
            while not done.is_set():
                begun = time.monotonic()
                messages = pop(broker, queue, batch=batch)
                delivered.extend((m["data"], begun) for m in messages)
                if messages:
                    ack(broker, messages)
        except AssertionError as error:
            errors.append(error)

    consumers = [threading.Thread(target=consume, args=(broker, batch)) for broker, batch in ((here, 3), (there, 5))]
    for consumer in consumers:
        consumer.start()
    for victim in victims:
        status = (here if rng.random() < 0.5 else there).request("DELETE", f"/api/v1/messages/{partition_id}/t{victim}").status
        assert status == 200
        deleted_at[victim] = time.monotonic()
    explain = f"/api/v1/resources/queues/{queue}/partitions/Default/explain"
    try:
        wait_until(lambda: errors or here.get(explain).json()["cause"] == "empty", 60, "the lane to be drained")
    finally:
        done.set()
        for consumer in consumers:
            consumer.join(30)
    assert not errors, errors
    late = [data for data, begun in delivered if begun > deleted_at.get(data, float("inf"))]
    assert not late, late
    assert {data for data, _ in delivered} >= set(range(count)) - set(victims), "what was not deleted is delivered"
    assert len(delivered) == len({data for data, _ in delivered}), "once"
