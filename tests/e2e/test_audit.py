"""The audit trail: what changes or deletes leaves an entry, also when PostgreSQL is away for a while."""

import json
import os
import subprocess

import pytest

from support.broker import binary
from support.process import wait_until

LONG = 60


@pytest.fixture
def start(make_broker, postgres, tmp_path):
    """A broker that writes lines to a file of its own."""
    def make(**env):
        broker = make_broker(env={"DATABASE_URL": postgres.url, "NUM_WORKERS": "2",
                                  "QUEEN_AUDIT_FILE": str(tmp_path / "audit.jsonl"), **env})
        return broker.start()
    return make


def entries(broker, query=""):
    """One page, the newest first."""
    reply = broker.get(f"/api/v1/audit?{query}")
    assert reply.status == 200, reply
    return reply.json()["entries"]


def settled(broker, count, query=""):
    """The entries, once there are so many."""
    return wait_until(lambda: (found := entries(broker, query)) and len(found) >= count and found, LONG,
                      f"{count} entries")


def lines(path):
    """What is in the file so far."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file.read().splitlines()]


def test_every_change_leaves_an_entry(start, tmp_path):
    broker = start()
    assert entries(broker) == []
    assert broker.post("/api/v1/push", {"items": [{"queue": "q", "payload": n, "transactionId": f"t{n}"}
                                                  for n in range(3)]}).status == 201
    popped = broker.get("/api/v1/pop/queue/q?consumerGroup=g").json()
    assert entries(broker) == [], "messages' own verbs leave none"
    partition = popped["partitionId"]
    asked = [("POST", "/api/v1/configure", {"queue": "q", "options": {"leaseTime": 7}}, "queue.configure"),
             ("POST", "/api/v1/consumer-groups/g/queues/q/seek", {"toEnd": True}, "group.seek"),
             ("POST", "/api/v1/consumer-groups/g/subscription", {"subscriptionTimestamp": "2026-01-31T00:00:00Z"},
              "group.subscription"),
             ("POST", f"/api/v1/messages/{partition}/t1/retry", {}, "message.retry"),
             ("DELETE", f"/api/v1/messages/{partition}/t2", None, "message.delete"),
             ("POST", f"/api/v1/messages/{partition}/t0/dlq", {"consumerGroup": "g"}, "message.dlq"),
             # What the handler does not read is not what was done.
             ("POST", "/api/v1/configure?queue=other", {"queue": "q"}, "queue.configure"),
             ("POST", "/api/v1/dlq/redrive?queue=other", {"queue": "q"}, "dlq.redrive"),
             ("POST", "/api/v1/dlq/redrive?queue=q", {"queue": ""}, "dlq.redrive"),
             ("DELETE", "/api/v1/dlq?queue=q", None, "dlq.purge"),
             ("POST", "/api/v1/system/maintenance/pop?queue=other", {"enabled": False}, "maintenance.pop"),
             ("DELETE", "/api/v1/queues/q/clear", None, "queue.clear"),
             ("DELETE", "/api/v1/consumer-groups/g/queues/q", None, "group.delete"),
             ("DELETE", "/api/v1/resources/queues/q/partitions/Default", None, "partition.delete"),
             ("DELETE", "/api/v1/resources/queues/q", None, "queue.delete"),
             ("POST", "/api/v1/configure", {"queue": 7}, "queue.configure")]
    statuses = [broker.request(method, path, body).status for method, path, body, _ in asked]
    assert statuses[0] == 200 and statuses[-1] == 400
    assert broker.post("/api/v1/stats/refresh", {}).status == 200  # changes nothing
    found = settled(broker, len(asked))
    assert len(found) == len(asked)
    for entry, (method, path, body, action), status in zip(reversed(found), asked, statuses):
        assert (entry["action"], entry["method"], entry["path"], entry["status"]) == (action, method, path, status)
        assert entry["client"].startswith("127.0.0.1:") and entry["source"] == "none" and entry["actor"] is None
        assert entry["request"] == (json.dumps(body) if body is not None else None)
    nameless = ("group.subscription", "maintenance.pop")
    assert [entry["queue"] for entry in found[::-1]] == [None if action in nameless else "q"
                                                         for _, _, _, action in asked[:-1]] + [None]
    # The same as lines, as they happened.
    written = wait_until(lambda: len(l := lines(tmp_path / "audit.jsonl")) >= len(asked) and l, LONG, "the lines")
    assert written == found[::-1]


def test_tokens(start, postgres):
    """They are changed in the database, which writes their entries."""
    broker = start()

    def token(*words):
        return subprocess.run([binary(), "token", *words], env={**broker.env}, capture_output=True, text=True, timeout=LONG,
                              check=True).stdout

    made = json.loads(token("create", "--role", "read-write", "--sub", "worker-1", "--push", "orders.*", "--json"))
    token("revoke", made["id"])
    token("revoke", made["id"])  # nothing more to revoke
    found = settled(broker, 2, "action=token")
    assert [entry["action"] for entry in found] == ["token.revoke", "token.create"]
    assert all(entry["source"] == "database" and made["id"] in entry["path"] for entry in found)
    assert "worker-1" in found[1]["request"] and made["token"] not in json.dumps(found)


def test_filters_and_pages(start):
    broker = start()
    for number in range(7):
        assert broker.post("/api/v1/configure", {"queue": f"q{number % 2}"}).status == 200
    assert broker.request("DELETE", "/api/v1/resources/queues/q0").status == 200
    found = settled(broker, 8)
    assert [e["action"] for e in entries(broker, "action=queue.delete")] == ["queue.delete"]
    assert len(entries(broker, "action=queue")) == 8 and entries(broker, "action=que") == []
    assert len(entries(broker, "queue=q1")) == 3
    assert entries(broker, "actor=alice") == []
    assert entries(broker, f"from={found[0]['at']}") == found[:1]
    assert entries(broker, f"to={found[-1]['at']}") == found[-1:]
    pages, before = [], ""
    while before is not None:
        page = broker.get(f"/api/v1/audit?limit=3&before={before}").json()
        pages += page["entries"]
        before = page["next"]
    assert pages == found


def test_nothing_is_lost_while_postgresql_is_away(start, postgres, tmp_path):
    broker = start()
    assert broker.post("/api/v1/configure", {"queue": "before"}).status == 200
    settled(broker, 1)
    postgres.stop("immediate")
    wait_until(lambda: broker.get("/health").status == 503, LONG)
    assert broker.post("/api/v1/configure", {"queue": "during"}, timeout=LONG).status >= 500
    assert broker.request("DELETE", "/api/v1/resources/queues/before", timeout=LONG).status >= 500
    wait_until(lambda: len(lines(tmp_path / "audit.jsonl")) == 3, LONG, "lines without a database")
    postgres.start()
    broker.wait_for("/health", 200, 120)
    found = wait_until(lambda: (reply := broker.get("/api/v1/audit")).status == 200 and
                       len(reply.json()["entries"]) == 3 and reply.json()["entries"], 120, "the rows")
    assert [entry["queue"] for entry in found[::-1]] == ["before", "during", "before"]
    assert all(entry["status"] >= 500 for entry in found[:2])


def test_a_broker_that_stops_leaves_what_it_did(start, postgres):
    broker = start()
    for number in range(20):
        assert broker.post("/api/v1/configure", {"queue": f"q{number}"}).status == 200
    assert broker.stop() == 0
    assert postgres.psql("SELECT count(*) FROM queen.audit_trail") == "20"


def test_strange_texts_and_a_file_that_is_moved(start, tmp_path):
    broker = start()
    for body in (b'{"queue":"\\u0000\\ud800"}', b"\xff\x00\x01 no json", b'{"queue":"' + b"x" * 10_000 + b'"}'):
        assert broker.post("/api/v1/configure", body).status == 400
    found = settled(broker, 3)
    assert all(len(entry["request"].encode()) <= 2000 for entry in found)
    file = tmp_path / "audit.jsonl"
    wait_until(lambda: len(lines(file)) == 3, LONG, "the lines")
    file.rename(tmp_path / "audit.1.jsonl")
    assert broker.post("/api/v1/configure", {"queue": "after"}).status == 200
    wait_until(lambda: len(lines(file)) == 1, LONG, "a new file")
    assert len(lines(tmp_path / "audit.1.jsonl")) == 3


def test_old_entries_are_removed(start, postgres):
    postgres.psql("SELECT 1")
    broker = start(QUEEN_AUDIT_DAYS="10", RETENTION_INTERVAL="200", EVICTION_INTERVAL="200")
    assert broker.post("/api/v1/configure", {"queue": "q"}).status == 200
    settled(broker, 1)
    postgres.psql("INSERT INTO queen.audit_trail (id, at, source, broker, action, method, path, status) "
                  "SELECT gen_random_uuid(), now() - interval '11 days', 'none', 'b', 'a', 'POST', '/', 200 "
                  "FROM generate_series(1, 50)")
    wait_until(lambda: postgres.psql("SELECT count(*) FROM queen.audit_trail") == "1", LONG, "the sweep")


def test_lines_in_the_log(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url, "LOG_FORMAT": "json"}).start()
    assert broker.post("/api/v1/configure", {"queue": "logged"}).status == 200

    def found():
        for line in broker.log().splitlines():
            if line.startswith("{") and json.loads(line)["message"] == "audit":
                return json.loads(line)
        return None

    line = wait_until(found, LONG, "a line")
    assert (line["action"], line["queue"], line["status"]) == ("queue.configure", "logged", 200)


def test_a_file_that_cannot_be_opened_stops_the_start(make_broker, postgres):
    code, output = make_broker(env={"DATABASE_URL": postgres.url, "QUEEN_AUDIT_FILE": "/proc/nowhere/x"}).run_to_end()
    assert code != 0 and "/proc/nowhere/x" in output
