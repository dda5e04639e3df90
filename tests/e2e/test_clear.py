"""Cleared ranges: what groups are given beside them and behind them."""

import threading

import pytest

from support.acks import ack_of
from support.messages import pop, push
from support.process import wait_until
from support.psql_session import PsqlSession


def clear(broker, queue):
    reply = broker.request("DELETE", f"/api/v1/queues/{queue}/clear")
    assert reply.status == 200, reply
    return reply.json()["count"]


def clear_in_vain(broker, queue):
    with pytest.raises(OSError):
        clear(broker, queue)


@pytest.mark.parametrize("calls", [[range(10)], [[n] for n in range(10)]], ids=["one-segment", "many-segments"])
def test_groups_read_past_a_deleted_message_and_a_cleared_range(two_brokers, queue, calls):
    _, here, there = two_brokers
    for payloads in calls:
        push(here, queue, payloads)
    first = pop(here, queue)
    assert here.post("/api/v1/ack", ack_of(first[0])).json()[0]["success"]
    assert there.request("DELETE", f"/api/v1/messages/{first[0]['partitionId']}/t0").status == 200
    assert clear(there, queue) == 9
    push(here, queue, [10, 11])
    assert [m["data"] for m in pop(here, queue, consumerGroup="young", wait="true", timeout=5000)] == [10]
    seek = f"/api/v1/consumer-groups/__QUEUE_MODE__/queues/{queue}/seek"
    assert here.post(seek, {"offset": 0}).status == 200
    assert [m["data"] for m in pop(here, queue, batch=9, wait="true", timeout=5000)] == [10, 11]


def test_each_message_is_delivered_or_cleared(two_brokers, queue):
    """What a group consumes while the clear looks at it is neither counted nor removed."""
    _, here, there = two_brokers
    assert pop(here, queue) == []
    count, done = 4000, threading.Event()
    got, cleared, errors = [], [], []

    def repeat(action):
        try:
            while not done.is_set():
                action()
        except AssertionError as error:
            errors.append(error)

    def consume(broker):
        got.extend(m["data"] for m in pop(broker, queue, batch=5, autoAck="true"))

    threads = [threading.Thread(target=repeat, args=(action,)) for action in (
        lambda: consume(here), lambda: consume(there), lambda: cleared.append(clear(there, queue)))]
    for thread in threads:
        thread.start()
    for first in range(0, count, 20):
        push(here, queue, range(first, first + 20))
    done.set()
    for thread in threads:
        thread.join(30)
    while messages := pop(here, queue, batch=1000, autoAck="true"):
        got.extend(m["data"] for m in messages)
    assert not errors, errors
    assert len(got) == len(set(got))
    assert len(got) + sum(cleared) == count, (len(got), sum(cleared))


def test_a_clear_that_was_broken_off_is_finished(two_brokers, make_broker, closing, queue):
    """A broker dies between two steps. Nobody is given the rest, and the sweeper of another broker removes it."""
    postgres, here, _ = two_brokers
    session = closing(PsqlSession(postgres))
    push(here, queue, ["kept"])
    assert len(pop(here, queue, autoAck="true")) == 1
    partition = int(session.run(f"SELECT p.id FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id WHERE q.name = '{queue}'"))
    count = 1600  # segments; a step removes 500
    session.run("INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads) "
                f"SELECT {partition}, i, 1, clock_timestamp() + i * interval '1 millisecond', i::text FROM generate_series(1, {count}) i")
    segments = f"SELECT count(*) FROM queen.segments WHERE partition_id = {partition}"
    # The second step waits for this row.
    holder = closing(PsqlSession(postgres))
    holder.run(f"BEGIN; SELECT 1 FROM queen.segments WHERE partition_id = {partition} AND base_seq = 700 FOR UPDATE")
    dying = make_broker("--num-workers", "1", env=postgres.env()).start()
    clearing = threading.Thread(target=clear_in_vain, args=(dying, queue))
    clearing.start()
    wait_until(lambda: int(session.run(segments)) <= count - 400, 60, "the first step")
    dying.kill9()
    clearing.join(30)
    holder.run("ROLLBACK")

    assert here.get(f"/api/v1/resources/queues/{queue}/depth").json()["depth"] == 0
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true", consumerGroup="late")] == ["kept"]
    assert pop(here, queue, batch=9, autoAck="true", consumerGroup="late") == []
    # the one that is kept, and the blank one at the end
    wait_until(lambda: int(session.run(segments)) == 2, 120, "the sweep of what is left")
    assert clear(here, queue) == 0
    push(here, queue, ["later"])
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true", consumerGroup="late", wait="true", timeout=30000)] == ["later"]
