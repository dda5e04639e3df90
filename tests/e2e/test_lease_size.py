"""I10, how much one lease call asks of PostgreSQL: read from PostgreSQL's log, which has every call with its
parameters."""

import re

import pytest

QUEUE = "lease_size.orders"
ROWS_MAX = 2000  # PopLimits::lease_rows_max
LISTED_MAX = 100_000  # kLoadSumMax


@pytest.fixture
def logged(make_broker, make_postgres):
    """(Postgres that logs every statement, Broker)"""
    postgres = make_postgres({"log_min_duration_statement": "0"})
    return postgres, make_broker("--num-workers", "1", env=postgres.env()).start()


def rows_of_calls(postgres):
    """The number of partitions of each load and of each append so far."""
    log = postgres.log()
    calls = re.findall(r"load_lanes\(\$1.*\n.*parameters: \$1 = '\{([0-9,]*)\}'", log)
    appends = re.findall(r"append_lanes\(\$1.*\n.*parameters: .*?\$4 = '\{([0-9,]*)\}'", log)
    assert calls and appends
    calls += appends
    return [call.count(",") + 1 for call in calls]


def listed_by_loads(postgres):
    """How many segments each load so far might have listed."""
    loads = re.findall(r"load_lanes\(\$1.*\n.*parameters: .*?\$3 = '\{([0-9,]*)\}'", postgres.log())
    return [sum(map(int, load.split(","))) for load in loads]


def push(broker, partitions):
    items = [{"queue": QUEUE, "partition": f"p{n}", "payload": n} for n in range(partitions)]
    reply = broker.post("/api/v1/push", {"items": items}, timeout=60)
    assert reply.status == 201, reply


def pop(broker, batch, partitions):
    reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?batch={batch}&partitions={partitions}&autoAck=true", timeout=60)
    return len(reply.json()["messages"]) if reply.status == 200 else 0


def test_no_more_candidates_than_messages(logged):
    postgres, broker = logged
    push(broker, 20)
    assert pop(broker, 1, 10000) == 1
    assert pop(broker, 3, 10000) == 3
    assert max(rows_of_calls(postgres)) == 3


def test_no_more_candidates_than_a_call_may_have(logged):
    postgres, broker = logged
    push(broker, 1)
    assert [pop(broker, 10, 10) for _ in range(2)] == [1, 0]  # from here on it hears of what is pushed
    push(broker, ROWS_MAX + 1)
    taken = [pop(broker, 10000, 10000) for _ in range(2)]
    assert sum(taken) == ROWS_MAX + 1
    assert max(taken) == max(rows_of_calls(postgres)) == ROWS_MAX
    assert max(listed_by_loads(postgres)) <= LISTED_MAX
