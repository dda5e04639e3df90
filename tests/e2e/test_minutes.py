"""What brokers write down about each minute agrees with what their clients did."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support.process import wait_until

METRICS = {"METRICS_FLUSH_INTERVAL": "100"}
COLUMNS = ("pushed", "duplicates", "popped", "acked", "failed", "dead_lettered")


class Ledger:
    """The test's own count of what it did to a queue."""

    def __init__(self, queue):
        self.queue = queue
        self.counts = dict.fromkeys(COLUMNS, 0)

    def push(self, broker, *txns):
        reply = broker.post("/api/v1/push", {"items": [
            {"queue": self.queue, "payload": txn, "transactionId": txn} for txn in txns]})
        assert reply.status == 201, reply
        for item in reply.json():
            self.counts["pushed" if item["status"] == "queued" else "duplicates"] += 1

    def pop(self, broker, batch=1, query=""):
        reply = broker.get(f"/api/v1/pop/queue/{self.queue}?batch={batch}{query}")
        if reply.status == 204:
            return []
        messages = reply.json()["messages"]
        self.counts["popped"] += len(messages)
        if "autoAck" in query:
            self.counts["acked"] += len(messages)
        return messages

    def ack(self, broker, messages, status="completed"):
        reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [
            {key: message[key] for key in ("transactionId", "partitionId", "leaseId")} | {"status": status}
            for message in messages]})
        for outcome in reply.json():
            assert outcome["success"], outcome
            self.counts["failed" if status == "failed" else "acked"] += 1
            self.counts["dead_lettered"] += outcome["dlq"]

    def written(self, postgres):
        """The sums over all minutes and brokers."""
        sums = ", ".join(f"coalesce(sum({column}), 0)" for column in COLUMNS)
        row = postgres.psql(f"SELECT {sums} FROM queen.queue_minutes WHERE queue = '{self.queue}'")
        return dict(zip(COLUMNS, map(int, row.split("|"))))

    def wait_written(self, postgres):
        wait_until(lambda: self.written(postgres) == self.counts,
                   what=f"the minutes to come to {self.counts}")


@pytest.fixture
def make_metered(make_broker, postgres):
    """make_metered() -> a broker of two workers that writes its minutes all the time."""
    return lambda **env: make_broker("--num-workers", "2", env=postgres.env() | METRICS | env)


def load(ledger, broker, run):
    """Pushes with duplicates, failures up to the dead letters, acks of both kinds."""
    ledger.push(broker, *(f"{run}-{i}" for i in range(20)))
    ledger.push(broker, *(f"{run}-{i}" for i in range(15, 25)))
    bad = ledger.pop(broker, 3)
    ledger.ack(broker, bad, "failed")
    again = ledger.pop(broker, 3)
    assert [message["transactionId"] for message in again] == [message["transactionId"] for message in bad]
    ledger.ack(broker, again, "failed")
    ledger.ack(broker, ledger.pop(broker, 10))
    while ledger.pop(broker, 5, "&autoAck=true"):
        pass


def analytics(broker, queue):
    reply = broker.get(f"/api/v1/status/analytics?queue={queue}")
    assert reply.status == 200, reply
    return reply.json()


def test_sums_agree_with_two_brokers_and_after_a_kill(make_metered, postgres):
    one, two = make_metered().start(), make_metered().start()
    ledger = Ledger("minutes.exact")
    one.post("/api/v1/configure", {"queue": ledger.queue, "options": {"retryLimit": 1}})
    load(ledger, one, "a")
    load(ledger, two, "b")
    assert ledger.counts["dead_lettered"] == 6
    ledger.wait_written(postgres)
    # Killed, it takes with it what it has not written; what it has written stays, once.
    one.kill9()
    load(ledger, two, "c")
    one.start()
    load(ledger, one, "d")
    ledger.wait_written(postgres)
    totals = analytics(two, ledger.queue)["totals"]
    assert totals == {
        "ingested": ledger.counts["pushed"], "duplicates": ledger.counts["duplicates"],
        "popped": ledger.counts["popped"], "completed": ledger.counts["acked"],
        "processed": ledger.counts["acked"] + ledger.counts["dead_lettered"],
        "failed": ledger.counts["failed"], "deadLetter": ledger.counts["dead_lettered"]}
    # One row per process that did something in a minute.
    assert int(postgres.psql("SELECT count(DISTINCT broker) FROM queen.broker_minutes")) == 3
    assert int(postgres.psql("SELECT sum(pushed) FROM queen.broker_minutes")) == ledger.counts["pushed"]


def test_a_broker_that_stops_writes_what_it_did_last(make_metered, postgres):
    broker = make_metered(METRICS_FLUSH_INTERVAL="60000").start()
    ledger = Ledger("minutes.last")
    ledger.push(broker, "1", "2", "3")
    ledger.ack(broker, ledger.pop(broker, 2))
    broker.stop()
    assert ledger.written(postgres) == ledger.counts


def series(broker, path, key):
    reply = broker.get(f"/api/v1/{path}")
    assert reply.status == 200, reply
    return reply.json()[key] if key else reply.json()


def total(points, field):
    return sum(point[field] for point in points)


def test_every_page_shows_the_same_numbers(make_metered, postgres):
    broker = make_metered(EVICTION_INTERVAL="100").start()
    ledger = Ledger("pages.same")
    load(ledger, broker, "a")
    ledger.wait_written(postgres)
    counts = ledger.counts
    settled = counts["acked"] + counts["dead_lettered"]
    for query in ("", f"?queue={ledger.queue}", "?namespace=pages", "?task=same", "?interval=hour"):
        points = series(broker, f"status{query}", "throughput")
        assert (total(points, "ingested"), total(points, "processed")) == (counts["pushed"], settled), query
    assert total(series(broker, "status?namespace=other", "throughput"), "ingested") == 0
    points = series(broker, "analytics/worker-metrics", "timeSeries")
    assert total(points, "pushMessages") == counts["pushed"]
    assert total(points, "popMessages") == counts["popped"] == total(points, "lagCount")
    assert total(points, "ackSuccess") == counts["acked"]
    assert total(points, "ackFailed") == counts["failed"]
    points = series(broker, f"analytics/queue-ops?queue={ledger.queue}", "series")
    assert total(points, "pushMessages") == counts["pushed"]
    assert total(points, "duplicates") == counts["duplicates"]
    assert total(points, "popMessages") == counts["popped"]
    assert total(points, "ackMessages") == counts["acked"] + counts["failed"]
    assert total(series(broker, f"analytics/queue-lag?queue={ledger.queue}", None), "popCount") == counts["popped"]
    replicas = series(broker, "analytics/system-metrics", "replicas")
    assert [replica["port"] for replica in replicas] == [broker.port]
    last = [point for point in replicas[0]["timeSeries"] if point["sampleCount"]][-1]["metrics"]
    assert last["memory"]["rss_bytes"]["last"] > 1 << 20 and last["database"]["pool_size"]["last"] >= 4
    workers = series(broker, "status", "workers")
    assert [worker["workerId"] for worker in workers] == [broker.port] and workers[0]["workers"] == 2
    # What retention removes is on its page, by cause.
    broker.post("/api/v1/configure", {"queue": ledger.queue, "options": {"maxWaitTimeSeconds": 1}})
    wait_until(lambda: series(broker, f"analytics/retention?queue={ledger.queue}", "totals")["evictionMsgs"]
               == counts["pushed"], what="the eviction of everything")


def test_pops_that_wait_are_seen_at_the_broker_they_wait_at(make_metered, postgres):
    one, two = make_metered().start(), make_metered().start()
    with ThreadPoolExecutor() as clients:
        waiting = clients.submit(one.get, "/api/v1/pop/queue/parked.here?wait=true&timeout=20000")
        wait_until(lambda: total(series(two, "analytics/queue-parked-replicas", "series"), "maxParkedCount") == 1,
                   what="the waiting pop")
        parked = {(point["queueName"], point["workerId"])
                  for point in series(two, "analytics/queue-parked-replicas", "series")}
        assert parked == {("parked.here", one.port)}
        one.post("/api/v1/push", {"items": [{"queue": "parked.here", "payload": 1}]})
        assert waiting.result().status == 200


def test_what_was_done_while_postgresql_was_away_is_written_when_it_is_back(make_metered, postgres):
    broker = make_metered().start()
    ledger = Ledger("minutes.away")
    ledger.push(broker, "1", "2")
    ledger.wait_written(postgres)
    postgres.stop()
    wait_until(lambda: broker.get("/health").status == 503, what="the broker to notice")
    reply = broker.post("/api/v1/push", {"items": [{"queue": ledger.queue, "payload": 3, "transactionId": "3"}]})
    assert [item["status"] for item in reply.json()] == ["buffered"], reply
    postgres.start()
    wait_until(lambda: broker.get("/health").status == 200, what="the broker to notice")
    wait_until(lambda: broker.get("/api/v1/status/buffers").json()["pending"] == 0, what="the replay")
    assert len(ledger.pop(broker, 10, "&autoAck=true")) == 3
    ledger.wait_written(postgres)
    # Taken once, whether stored at once or by way of the file.
    assert analytics(broker, ledger.queue)["totals"]["ingested"] == 3
