"""What the broker does not ask PostgreSQL, counted in calls; the counts are exact once its connections have ended."""

import pytest

from support.acks import ack_of
from support.process import wait_until

MESSAGES = 50
PARTITIONS = 3
POP = "/api/v1/pop/queue/cost?consumerGroup=g"


@pytest.fixture
def postgres(make_postgres):
    return make_postgres({"track_functions": "all"})


@pytest.fixture
def broker(make_broker, postgres):
    return make_broker("--num-workers", "1", env=postgres.env()).start()


def calls(broker, postgres):
    """Loads and appends of lanes, by a broker that is stopped for it."""
    assert broker.stop() == 0
    wait_until(lambda: not postgres.backends(), what="the connections to end")
    return {function: int(postgres.psql("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions "
                                        f"WHERE schemaname = 'queen' AND funcname = '{function}'"))
            for function in ("load_lanes", "append_lanes")}


def push(broker, number):
    item = {"queue": "cost", "partition": f"p{number % PARTITIONS}", "payload": number}
    assert broker.post("/api/v1/push", {"items": [item]}).status == 201


def ack(broker, messages):
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [ack_of(m) for m in messages], "consumerGroup": "g"})
    assert reply.status == 200 and all(answer["success"] for answer in reply.json()), reply


def test_a_partition_that_gave_all_it_had_is_not_leased_again(broker, postgres):
    for number in range(MESSAGES):
        push(broker, number)
        reply = broker.get(POP)
        assert [m["data"] for m in reply.json()["messages"]] == [number]
        ack(broker, reply.json()["messages"])
        assert broker.get(POP).status == 204
    assert calls(broker, postgres) == {"load_lanes": PARTITIONS, "append_lanes": 2 * MESSAGES}


def test_nor_is_one_that_settled_at_once(broker, postgres):
    for number in range(MESSAGES):
        push(broker, number)
        assert [m["data"] for m in broker.get(POP + "&autoAck=true").json()["messages"]] == [number]
        assert broker.get(POP + "&autoAck=true").status == 204
    assert calls(broker, postgres) == {"load_lanes": PARTITIONS, "append_lanes": MESSAGES}


def test_what_is_pushed_during_a_lease_is_found_after_it(broker):
    for number in range(0, 2 * MESSAGES, 2):
        push(broker, number)
        reply = broker.get(POP)
        assert [m["data"] for m in reply.json()["messages"]] == [number]
        item = {"queue": "cost", "partition": reply.json()["messages"][0]["partition"], "payload": number + 1}
        assert broker.post("/api/v1/push", {"items": [item]}).status == 201
        assert broker.get(POP).status == 204
        ack(broker, reply.json()["messages"])
        assert [m["data"] for m in broker.get(POP + "&autoAck=true").json()["messages"]] == [number + 1]
        assert broker.get(POP).status == 204


def test_what_a_batch_left_is_found_after_it(broker):
    for number in range(9):
        push(broker, number)
    seen = []
    while (reply := broker.get(POP + "&batch=2")).status == 200:
        messages = reply.json()["messages"]
        ack(broker, messages)
        seen += [m["data"] for m in messages]
    assert sorted(seen) == list(range(9))
