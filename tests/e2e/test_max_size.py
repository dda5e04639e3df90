"""maxSize: a queue takes about so many messages that its slowest active group has not consumed."""

import pytest

from support.process import wait_until

FULL = "Queue is full"


def configure(broker, queue, **options):
    reply = broker.post("/api/v1/configure", {"queue": queue, "options": options})
    assert reply.status == 200
    return reply.json()["options"]


def push(broker, queue, count, **fields):
    """What became of each: "queued", or the error."""
    reply = broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": n, **fields} for n in range(count)]})
    assert reply.status == 201
    assert [entry["index"] for entry in reply.json()] == list(range(count))
    return [entry.get("error", entry["status"]) for entry in reply.json()]


def take(broker, queue, count, group=None):
    where = f"/api/v1/pop/queue/{queue}?batch={count}&partitions=100&autoAck=true"
    reply = broker.get(where + (f"&consumerGroup={group}" if group else ""))
    assert reply.status == 200
    return [message["data"] for message in reply.json()["messages"]]


def takes_again(broker, queue):
    wait_until(lambda: push(broker, queue, 1) == ["queued"], 20)


@pytest.fixture
def broker(make_broker, postgres):
    return make_broker(env={"DATABASE_URL": postgres.url, "NUM_WORKERS": "2"}).start()


def test_items_past_the_limit_are_refused_and_the_others_stored(broker):
    assert configure(broker, "q", maxSize=3)["maxSize"] == 3
    items = [{"queue": queue, "payload": n} for n in range(5) for queue in ("q", "free")]
    reply = broker.post("/api/v1/push", {"items": items}).json()
    assert [entry["status"] for entry in reply] == ["queued"] * 6 + ["failed", "queued"] * 2
    assert reply[6] == {"index": 6, "status": "failed", "error": FULL}
    assert push(broker, "q", 2) == [FULL, FULL]
    assert take(broker, "q", 10) == [0, 1, 2]
    assert take(broker, "free", 10) == [0, 1, 2, 3, 4]
    takes_again(broker, "q")


def test_the_slowest_group_counts_and_partitions_are_added_up(broker):
    configure(broker, "q", maxSize=6)
    for partition in range(3):
        assert push(broker, "q", 2, partition=str(partition)) == ["queued"] * 2
    for group in ("fast", "slow"):
        assert broker.get(f"/api/v1/pop/queue/q?consumerGroup={group}&leaseTime=300").status == 200
    assert broker.post("/api/v1/consumer-groups/fast/queues/q/seek", {"toEnd": True}).status == 200
    assert broker.post("/api/v1/consumer-groups/slow/queues/q/seek", {"offset": 0}).status == 200
    # A measurement that has seen both groups has come and gone when a later limit is in force.
    configure(broker, "marker", maxSize=1)
    assert push(broker, "marker", 1) == ["queued"]
    assert take(broker, "marker", 1) == [0]
    takes_again(broker, "marker")
    assert push(broker, "q", 1) == [FULL]
    assert len(take(broker, "q", 2, "slow")) == 2
    takes_again(broker, "q")


def test_a_limit_set_through_another_broker(broker, make_broker, postgres):
    other = make_broker(env={"DATABASE_URL": postgres.url}).start()
    assert push(broker, "q", 5) == ["queued"] * 5
    configure(other, "q", maxSize=5)
    wait_until(lambda: push(broker, "q", 1) == [FULL], 20)
    wait_until(lambda: push(other, "q", 1) == [FULL], 20)
    configure(other, "q", maxSize=0)
    assert push(other, "q", 3) == ["queued"] * 3
    takes_again(broker, "q")


def test_a_limit_survives_a_restart(broker, make_broker, postgres):
    configure(broker, "q", maxSize=2)
    assert push(broker, "q", 3) == ["queued", "queued", FULL]
    assert broker.stop() == 0
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    wait_until(lambda: push(broker, "q", 1) == [FULL], 20)


def test_transactions_and_cycles_are_refused_as_a_whole(broker):
    configure(broker, "sink", maxSize=2)
    assert push(broker, "source", 3) == ["queued"] * 3
    popped = broker.get("/api/v1/pop/queue/source").json()
    message = popped["messages"][0]
    ack = {"type": "ack", "transactionId": message["transactionId"], "partitionId": message["partitionId"],
           "leaseId": popped["leaseId"]}

    def transaction(count):
        items = [{"queue": "sink", "payload": n} for n in range(count)]
        return broker.post("/api/v1/transaction", {"operations": [{"type": "push", "items": items}, ack]}).json()

    refused = transaction(3)
    assert (refused["success"], refused["error"], refused["results"]) == (False, FULL, [])
    assert transaction(2)["success"]  # what was refused has taken no room, and the ack was not applied
    assert push(broker, "sink", 1) == [FULL]

    query = broker.post("/streams/v1/queries", {"name": "s", "source_queue": "source", "config_hash": "h"}).json()
    cycle = broker.post("/streams/v1/cycle", {
        "query_id": query["query_id"], "partition_id": message["partitionId"], "state_ops": [], "ack": None,
        "push_items": [{"queue": "sink", "payload": 1}]})
    assert cycle.status == 200
    assert (cycle.json()["success"], cycle.json()["error"]) == (False, FULL)
    assert take(broker, "sink", 10) == [0, 1]


def test_what_is_not_stored_takes_no_room(broker):
    configure(broker, "q", maxSize=3)
    assert push(broker, "q", 1, transactionId="t") == ["queued"]
    for _ in range(5):
        assert push(broker, "q", 1, transactionId="t") == ["duplicate"]
    assert push(broker, "q", 3) == ["queued", "queued", FULL]
    assert broker.request("DELETE", "/api/v1/resources/queues/q").status == 200
    assert push(broker, "q", 5) == ["queued"] * 5


def test_a_cleared_range_does_not_count(broker):
    push(broker, "q", 10)
    take(broker, "q", 10)
    push(broker, "q", 190)
    assert broker.request("DELETE", "/api/v1/queues/q/clear").json()["count"] == 190
    assert take(broker, "q", 1, "late") == [0]
    push(broker, "q", 1)  # with this one it has 10 to consume, on both sides of the range
    configure(broker, "q", maxSize=50)
    configure(broker, "mark", maxSize=1)
    for _ in range(2):  # full, and not full any more: the broker has looked again, at both
        wait_until(lambda: push(broker, "mark", 1) == [FULL], 20)
        take(broker, "mark", 10)
        takes_again(broker, "mark")
    assert push(broker, "q", 1) == ["queued"]
