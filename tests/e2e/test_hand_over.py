"""Hand-over: a push carries the lease of the pop that waits for it, an ack the next lease of its lane. Each message
is given out once, in its order, and nobody is left waiting."""

import concurrent.futures

import pytest

from support.acks import ack_of
from support.process import wait_until

WAIT = "wait=true&timeout=25000"


@pytest.fixture(scope="module")
def pair(two_brokers):
    """(Postgres, Broker, the other one)"""
    return two_brokers


@pytest.fixture
def broker(pair):
    return pair[1]


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        yield threads


def push(broker, queue, *payloads, partition="p", **more):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": partition, "payload": payload} | more for payload in payloads]})
    assert reply.status == 201 and {item["status"] for item in reply.json()} == {"queued"}, reply


def handed_over(broker):
    """queen_leases_handed_over_total."""
    lines = broker.get("/metrics/prometheus").body.decode().splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith("queen_leases_handed_over_total"))


def await_waiting(broker, queue, count):
    """That so many pops are parked."""
    def parked():
        lines = broker.get("/metrics/prometheus").body.decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith("queen_pops_waiting")) >= count
    wait_until(parked, 30, f"{count} pops of {queue} to wait")


def pop(broker, queue, more=""):
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{WAIT}{more}", timeout=60)
    assert reply.status == 200, reply
    return reply.json()["messages"]


def consume(broker, queue, group=None):
    """One message, completed; its payload."""
    message, = pop(broker, queue, f"&consumerGroup={group}" if group else "")
    acked(broker, message, **({"consumerGroup": group} if group else {}))
    return message["data"]


def acked(broker, message, status="completed", **more):
    reply = broker.post("/api/v1/ack", ack_of(message, status, **more))
    assert reply.status == 200 and reply.json()[0]["success"], reply


def first(broker, queue):
    """The lane becomes known to the broker."""
    push(broker, queue, "first")
    assert consume(broker, queue) == "first"


def test_a_push_brings_its_lease(broker, pool):
    first(broker, "with.push")
    before = handed_over(broker)
    for number in range(5):
        waiting = pool.submit(pop, broker, "with.push")
        await_waiting(broker, "with.push", 1)
        push(broker, "with.push", number)
        message, = waiting.result()
        assert (message["data"], message["offset"]) == (number, number + 1)
        acked(broker, message)
    wait_until(lambda: handed_over(broker) >= before + 5, 30, "five leases to be counted")


def test_an_ack_brings_the_next_lease(broker, pool):
    first(broker, "with.ack")
    push(broker, "with.ack", 0, 1, 2, 3)
    message, = pop(broker, "with.ack")
    before = handed_over(broker)
    for number in range(1, 4):
        waiting = pool.submit(pop, broker, "with.ack")
        await_waiting(broker, "with.ack", 1)
        acked(broker, message)
        assert not broker.post("/api/v1/ack", ack_of(message, "failed")).json()[0].get("dlq")  # settled is settled
        message, = waiting.result()
        assert message["data"] == number
    acked(broker, message)
    wait_until(lambda: handed_over(broker) >= before + 3, 30, "three leases to be counted")


def test_every_group_that_waits_is_given_it(broker, pool):
    groups = ["g0", "g1", "g2"]
    push(broker, "groups", "first")
    assert [consume(broker, "groups", group) for group in groups] == ["first"] * 3
    waiting = [pool.submit(consume, broker, "groups", group) for group in groups]
    await_waiting(broker, "groups", 3)
    push(broker, "groups", "second")
    assert [one.result() for one in waiting] == ["second"] * 3


def test_a_pop_is_given_no_more_than_it_asks_for(broker, pool):
    first(broker, "batch")
    waiting = [pool.submit(pop, broker, "batch", "&batch=2") for _ in range(2)]
    await_waiting(broker, "batch", 2)
    push(broker, "batch", 0, 1, 2)
    done, left = concurrent.futures.wait(waiting, return_when=concurrent.futures.FIRST_COMPLETED)
    messages = done.pop().result()
    assert [message["data"] for message in messages] == [0, 1]
    for message in messages:
        acked(broker, message)
    assert [message["data"] for message in left.pop().result()] == [2]


def test_an_automatic_ack_is_not_carried(broker, pool):
    first(broker, "auto")
    before = handed_over(broker)
    waiting = pool.submit(pop, broker, "auto", "&autoAck=true")
    await_waiting(broker, "auto", 1)
    push(broker, "auto", 1, 2)
    assert [message["data"] for message in waiting.result()] == [1]
    assert [message["data"] for message in pop(broker, "auto", "&autoAck=true")] == [2]
    assert handed_over(broker) == before


def test_what_another_broker_stored_in_between_comes_first(pair, pool):
    """The broker believes that the lane has nothing: the lease of its push loses, and the pop asks."""
    _, broker, other = pair
    first(broker, "between")
    waiting = pool.submit(pop, broker, "between", "&batch=10")
    await_waiting(broker, "between", 1)
    stored = [pool.submit(push, one, "between", number) for number, one in enumerate([other, broker] * 5)]
    for one in stored:
        one.result()
    seen = waiting.result()
    for message in seen:
        acked(broker, message)
    while len(seen) < 10:
        more = pop(broker, "between", "&batch=10")
        for message in more:
            acked(broker, message)
        seen += more
    assert [message["offset"] for message in seen] == list(range(1, 11))
    assert sorted(message["data"] for message in seen) == list(range(10))


@pytest.mark.parametrize("options", [{"delayedProcessing": 1}, {"windowBuffer": 1}, {"retryDelay": 1000}])
def test_nothing_is_carried_before_its_time(broker, pool, options):
    queue = "time." + next(iter(options))
    assert broker.post("/api/v1/configure", {"queue": queue, "options": options}).status == 200
    first(broker, queue)
    push(broker, queue, 1)
    message, = pop(broker, queue)
    waiting = pool.submit(pop, broker, queue)
    await_waiting(broker, queue, 1)
    acked(broker, message, "failed")
    again, = waiting.result()
    assert again["offset"] == message["offset"]
    acked(broker, again)
