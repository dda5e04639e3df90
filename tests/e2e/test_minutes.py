"""What brokers write down about each minute agrees with what their clients did."""

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
