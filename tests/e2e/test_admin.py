"""Administration while consumers are at work, and while PostgreSQL is away."""

import threading

from support.process import wait_until

PARTITIONS = 8
EACH = 20


def fill(broker, queue):
    items = [{"queue": queue, "partition": f"p{p}", "payload": f"{p}:{n}"} for p in range(PARTITIONS) for n in range(EACH)]
    assert broker.post("/api/v1/push", {"items": items}).status == 201
    return {item["payload"] for item in items}


def drain(broker, queue, group, expected):
    """Everything, by pops that wait: a partition that was forgotten would stay away."""
    seen = set()
    while seen != expected:
        reply = broker.get(f"/api/v1/pop/queue/{queue}?consumerGroup={group}&batch=7&autoAck=true&wait=true&timeout=20000")
        assert reply.status == 200, f"stranded: {sorted(expected - seen)}"
        seen.update(message["data"] for message in reply.json()["messages"])


def test_no_partition_is_stranded_by_changes_under_load(make_broker):
    """Leases, resolves and names are in flight whenever something is changed."""
    broker = make_broker(env={"NUM_WORKERS": "2"}).start()
    expected = fill(broker, "busy")
    done = threading.Event()
    failures = []

    def consume(partition):
        where = f"/partition/p{partition}" if partition is not None else ""
        auto = "&autoAck=true" if partition is None else ""
        while not done.is_set():
            reply = broker.get(f"/api/v1/pop/queue/busy{where}?consumerGroup=g&batch=3&wait=true&timeout=200{auto}")
            if reply.status not in (200, 204):
                failures.append(str(reply))

    threads = [threading.Thread(target=consume, args=(p,)) for p in (None, None, None, 0, 1)]
    for thread in threads:
        thread.start()
    seek = "/api/v1/consumer-groups/g/queues/busy/seek"
    for number in range(60):
        replies = [broker.post(seek, {"offset": 0}),
                   broker.post("/api/v1/configure", {"queue": "busy", "options": {"leaseTime": 300 + number}})]
        if number % 3 == 0:
            replies.append(broker.request("DELETE", "/api/v1/consumer-groups/g/queues/busy"))
        if number % 5 == 0:
            replies.append(broker.post(seek, {"toEnd": True}))
        assert [reply.status for reply in replies] == [200] * len(replies)
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert broker.post(seek, {"offset": 0}).status == 200
    drain(broker, "busy", "g", expected)
    assert broker.stop() == 0


def test_a_seek_through_another_broker_frees_what_this_one_holds(make_broker, postgres):
    here, there = [make_broker(env={"DATABASE_URL": postgres.url}).start() for _ in range(2)]
    expected = fill(here, "two")
    held = here.get(f"/api/v1/pop/queue/two?consumerGroup=g&batch=1000&partitions={PARTITIONS}").json()
    assert held["partitionsClaimed"] == PARTITIONS
    assert there.post("/api/v1/consumer-groups/g/queues/two/seek", {"offset": 0}).status == 200
    drain(here, "two", "g", expected)


def test_a_seek_moves_more_partitions_than_one_transaction_holds(make_broker):
    broker = make_broker().start()
    count = 1203
    items = [{"queue": "wide", "partition": str(p), "payload": p} for p in range(count)]
    assert broker.post("/api/v1/push", {"items": items}).status == 201
    assert broker.get("/api/v1/pop/queue/wide?consumerGroup=g&autoAck=true").status == 200
    moved = broker.post("/api/v1/consumer-groups/g/queues/wide/seek", {"toEnd": True}).json()
    assert moved["partitionsUpdated"] == count
    assert broker.get("/api/v1/pop/queue/wide?consumerGroup=g").status == 204


def test_without_its_database_and_after(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    configure = {"queue": "away", "options": {"leaseTime": 60}}
    assert broker.post("/api/v1/configure", configure).status == 200
    postgres.stop()
    reply = broker.post("/api/v1/configure", configure)
    assert reply.status == 503
    assert "ECONNREFUSED" in reply.json()["error"]
    postgres.start()
    wait_until(lambda: broker.post("/api/v1/configure", configure).status == 200, what="configure after the outage")
    assert broker.stop() == 0
