"""Metrics: /metrics and /metrics/prometheus say what really happened, and what reads them finds what it names."""

import contextlib
import json
import os
import re
import subprocess

import pytest

from support.broker import REPOSITORY, Broker
from support.postgres import Postgres
from support.process import wait_until
from support.scrape import Scrape
from support.udp import SECRET, free_udp_port

DEPLOY = os.path.join(REPOSITORY, "deploy")
PAGE = os.path.join(REPOSITORY, "docs", "monitoring.md")


@pytest.fixture(scope="module")
def served():
    """(Postgres, Broker) for the whole file; the broker has everything that has metrics."""
    with contextlib.ExitStack() as stack:
        postgres = Postgres()
        stack.callback(postgres.close)
        postgres.start()
        port = free_udp_port()
        broker = Broker("--num-workers", "2", env=postgres.env() | {
            "QUEEN_UDP_PEERS": f"127.0.0.1:{port}", "QUEEN_UDP_NOTIFY_PORT": str(port), "QUEEN_SYNC_SECRET": SECRET})
        stack.callback(broker.close)
        stack.callback(lambda: print(f"---- log of the broker\n{broker.log()[-10000:]}"))
        yield postgres, broker.start()


@pytest.fixture
def broker(served):
    """The broker of the file."""
    return served[1]


def push(broker, queue, *payloads, **fields):
    """Pushes each payload; returns the outcomes."""
    reply = broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": p, **fields} for p in payloads]})
    assert reply.status == 201, reply
    return reply.json()


def pop(broker, queue, query="", status=200):
    """The messages of one pop."""
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}")
    assert reply.status == status, reply
    return reply.json()["messages"] if status == 200 else []


def ack(broker, message, status):
    """Acks one message."""
    reply = broker.post("/api/v1/ack", {"status": status, **{name: message[name] for name in (
        "transactionId", "partitionId", "leaseId", "consumerGroup")}})
    assert reply.json()[0]["success"], reply


def events(scrape, queue):
    """What was done to the messages of a queue: event -> count."""
    return {labels["event"]: int(value) for name, labels, value in scrape.samples
            if name == "queen_queue_messages_total" and labels["queue"] == queue}


def promtool(*arguments, text=None):
    """Runs promtool; returns (exit code, all output)."""
    done = subprocess.run(["promtool", *arguments], input=text, text=True, check=False, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


# ---- known traffic, exact numbers

def test_known_traffic_is_counted_exactly(broker):
    before = Scrape.of(broker)
    push(broker, "counted", 1, 22, 333)
    assert push(broker, "counted", 4, transactionId="same")[0]["status"] == "queued"
    assert push(broker, "counted", 4, transactionId="same")[0]["status"] == "duplicate"
    first, second, third = pop(broker, "counted", "batch=3")
    ack(broker, first, "completed")
    ack(broker, second, "dlq")
    ack(broker, third, "retry")
    third, fourth = pop(broker, "counted", "batch=10")
    ack(broker, third, "failed")
    ack(broker, fourth, "completed")
    third, = pop(broker, "counted", "autoAck=true")
    pop(broker, "counted", status=204)
    expected = {"pushed": 4, "duplicate": 1, "buffered": 0, "delivered": 6, "acked": 3, "failed": 1,
                "dead_lettered": 1, "retried": 1}
    after = wait_until(lambda: (scrape := Scrape.of(broker)) and events(scrape, "counted") == expected and scrape,
                       what="the counts")

    def rose(name, **labels):
        return after.sum(name, **labels) - before.sum(name, **labels)

    assert after.sum("queen_queue_pushed_bytes_total", queue="counted") == len("1223334")
    assert after.sum("queen_queue_pops_total", queue="counted", result="messages") == 3
    assert after.sum("queen_queue_pops_total", queue="counted", result="empty") == 1
    assert after.sum("queen_queue_delivery_age_seconds_total", queue="counted") >= 0
    assert rose("queen_operations_total", operation="push") == 3
    assert rose("queen_operation_items_sum", operation="push") == 5
    assert rose("queen_operation_duration_seconds_count", operation="push") == 3
    assert rose("queen_operations_total", operation="pop") == 4
    assert rose("queen_operation_items_sum", operation="pop") == 6
    assert rose("queen_operations_total", operation="ack") == 5
    assert rose("queen_http_replies_total", **{"class": "4xx"}) == 0
    # 3 pushes, 4 pops, 5 acks, and the scrapes
    assert rose("queen_http_requests_total") >= 12
    assert rose("queen_batches_total", operation="push") >= 1


def test_a_transaction_counts_for_the_queues_it_touches(broker):
    push(broker, "source", "x")
    message, = pop(broker, "source")
    reply = broker.post("/api/v1/transaction", {"operations": [
        {"type": "ack", "transactionId": message["transactionId"], "partitionId": message["partitionId"],
         "leaseId": message["leaseId"]},
        {"type": "push", "items": [{"queue": "sink", "payload": 1}, {"queue": "sink", "payload": 2}]}]})
    assert reply.json()["success"], reply
    wait_until(lambda: events(scrape := Scrape.of(broker), "source").get("acked") == 1
               and events(scrape, "sink").get("pushed") == 2, what="the transaction's counts")
    refused = broker.post("/api/v1/transaction", {"operations": [
        {"type": "ack", "transactionId": "nobody", "partitionId": message["partitionId"]}]})
    assert not refused.json()["success"]
    assert Scrape.of(broker).sum("queen_operation_errors_total", operation="transaction", code="message_not_found") == 1


def test_a_pop_that_waits_is_no_slow_pop(broker):
    before = Scrape.of(broker)
    assert broker.get("/api/v1/pop/queue/nothing-here?wait=true&timeout=300").status == 204
    after = Scrape.of(broker)
    name = "queen_operation_duration_seconds_count"
    assert after.sum("queen_pop_wait_seconds_count") == before.sum("queen_pop_wait_seconds_count") + 1
    assert after.sum("queen_pop_wait_seconds_sum") >= before.sum("queen_pop_wait_seconds_sum") + 0.2
    assert after.sum(name, operation="pop") == before.sum(name, operation="pop")


def test_json_agrees_with_the_scrape(broker):
    push(broker, "as-json", 1, 2)
    def agree():
        document = broker.get("/metrics").json()
        scrape = Scrape.of(broker)
        assert document["messages"]["total"] == sum(
            value for name, labels, value in scrape.samples
            if name == "queen_queue_messages_total" and labels["event"] in ("pushed", "buffered"))
        return document["messages"]["total"] >= 2 and (document, scrape)
    document, scrape = wait_until(agree, what="the pushes to be counted")
    for operation, numbers in document["sidecar"]["operations"].items():
        assert numbers["count"] == scrape.sum("queen_operations_total", operation=operation)
        assert numbers["items"] == scrape.sum("queen_operation_items_sum", operation=operation)
    assert document["sidecar"]["connections"]["total"] == scrape.sum("queen_database_slots", state="total") > 0
    assert document["database"]["poolSize"] == scrape.sum("queen_admin_pool_connections", state="total") > 0
    assert document["memory"]["rss"] > 1 << 20 and document["cpu"]["user"] > 0 and document["uptime"] > 0


def test_rates_rise_with_traffic(broker):
    push(broker, "rated", *range(50))
    wait_until(lambda: broker.get("/metrics").json()["messages"]["rate"] > 0, what="a rate of messages")
    assert broker.get("/metrics").json()["requests"]["rate"] > 0


# ---- refusals

def test_refusals_are_counted_by_route_and_code_and_leave_few_lines(broker):
    secret = "do-not-log-this-payload"
    before = Scrape.of(broker)
    for _ in range(60):
        assert broker.post("/api/v1/push", {"items": secret}).status == 400
    for _ in range(3):
        assert broker.get("/api/v1/no-such-thing").status == 404
    assert broker.request("PUT", "/api/v1/push").status == 405
    assert broker.get("/api/v1/pop/queue/q?batch=many").status == 400
    after = Scrape.of(broker)

    def refused(**labels):
        return after.sum("queen_http_refusals_total", **labels) - before.sum("queen_http_refusals_total", **labels)

    assert refused(method="POST", route="/api/v1/push", code="invalid_request") == 60
    assert refused(method="none", route="none", code="route_not_found") == 3
    assert refused(code="method_not_allowed") == 1
    assert refused(method="GET", route="/api/v1/pop/queue/:queue", code="invalid_request") == 1
    assert refused() == 65

    def lines():
        return [line for line in broker.log().splitlines() if "refused" in line and "route=/api/v1/push" in line]

    def all_told():
        told = sum(int(re.search(r"count=(\d+)", line).group(1)) if "count=" in line else 1 for line in lines())
        return told == 60
    wait_until(all_told, 40, "the lines to account for every refusal")
    assert len(lines()) <= 4  # two workers, each its first refusal and the sum of the others
    for part in ("method=POST", "code=invalid_request", "status=400", "items array is required", "client=127.0.0.1:"):
        assert any(part in line for line in lines()), part
    assert secret not in broker.log()


# ---- what reads the metrics

def test_promtool_finds_nothing_wrong_with_a_scrape(broker):
    code, output = promtool("check", "metrics", text=Scrape.of(broker).text)
    assert code == 0 and output.strip() == "", output


def test_the_alerts_are_valid_and_fire_when_they_should():
    rules = os.path.join(DEPLOY, "prometheus", "queen.rules.yml")
    for arguments in (("check", "rules", rules),
                      ("check", "config", os.path.join(DEPLOY, "prometheus", "prometheus.yml")),
                      ("test", "rules", os.path.join(DEPLOY, "prometheus", "queen.tests.yml"))):
        code, output = promtool(*arguments)
        assert code == 0, output
    with open(rules, encoding="utf-8") as file:
        alerts = set(re.findall(r"alert: (\w+)", file.read()))
    with open(os.path.join(DEPLOY, "prometheus", "queen.tests.yml"), encoding="utf-8") as file:
        tested = file.read()
    for alert in alerts:
        assert f"name: {alert} fires" in tested and f"name: {alert} is quiet" in tested, alert
    with open(PAGE, encoding="utf-8") as file:
        assert alerts == set(re.findall(r"^### (\w+)$", file.read(), re.MULTILINE))


def expressions():
    """Every text in which the dashboard or the rules name metrics."""
    with open(os.path.join(DEPLOY, "prometheus", "queen.rules.yml"), encoding="utf-8") as file:
        yield file.read()
    with open(os.path.join(DEPLOY, "grafana", "queen.json"), encoding="utf-8") as file:
        yield json.dumps(json.load(file))


def test_dashboard_and_rules_name_only_metrics_that_exist(broker):
    names = Scrape.of(broker).names()
    for text in expressions():
        used = set(re.findall(r"\bqueen_[a-z0-9_]+", text))
        assert len(used) > 10
        assert used <= names, sorted(used - names)


def test_the_page_lists_every_metric(broker):
    with open(PAGE, encoding="utf-8") as file:
        listed = {name: (kind, text) for name, kind, text in re.findall(
            r"^\| `(queen_\w+)` \| (\w+) \| .*?\| (.*) \|$", file.read(), re.MULTILINE)}
    assert listed == Scrape.of(broker).families, "run scripts/metrics-table"


# ---- the database

def test_numbers_of_the_database_are_read(broker):
    scrape = wait_until(lambda: (s := Scrape.of(broker)).has("queen_table_dead_rows", table="segments") and s,
                        what="the first reading")
    assert scrape.sum("queen_table_bytes", table="segments") > 0
    assert scrape.sum("queen_database_connections") > 0
    assert scrape.has("queen_database_xmin_age") and scrape.has("queen_database_oldest_transaction_seconds")
    assert scrape.sum("queen_database_up") == 1


def test_depth_lag_and_age_are_those_of_the_stats_job(served):
    postgres, broker = served
    push(broker, "deep", *range(7))
    push(broker, "deep", "dead")
    for message in pop(broker, "deep", "batch=3&consumerGroup=slow"):
        ack(broker, message, "completed")
    holder = "'00000000-0000-4000-8000-00000000abcd'"

    def measured():
        """A pass of the job, whoever makes it, and a scrape that knows it."""
        postgres.psql(f"SELECT queen.begin_stats({holder}, 0, true, NULL)")
        postgres.psql(f"SELECT queen.measure_stats({holder}, 0, 0, NULL, 1000000)")
        scrape = Scrape.of(broker)
        return scrape.sum("queen_group_lag", queue="deep", group="slow") == 5 and scrape
    scrape = wait_until(measured, what="the numbers of the stats job", interval=0.5)
    assert scrape.sum("queen_queue_depth", queue="deep") == 5
    assert scrape.sum("queen_queue_stored_messages", queue="deep") == 8
    assert scrape.sum("queen_queue_partitions", queue="deep") == 1
    assert scrape.sum("queen_queue_oldest_age_seconds", queue="deep") > 0
    assert scrape.sum("queen_group_oldest_age_seconds", queue="deep", group="slow") > 0
    assert scrape.sum("queen_queue_dead_letters", queue="counted") == 1
    assert scrape.has("queen_queue_numbers_age_seconds")


def test_a_scrape_answers_while_postgresql_is_away(served):
    postgres, broker = served
    postgres.stop()
    try:
        wait_until(lambda: Scrape.of(broker).sum("queen_database_up") == 0, what="the outage to be seen")
        outcome, = push(broker, "away", "x")
        assert outcome["status"] == "buffered"
        scrape = wait_until(lambda: events(s := Scrape.of(broker), "away").get("buffered") == 1 and s,
                            what="the buffered message to be counted")
        assert scrape.sum("queen_buffer_messages") == 1
        assert broker.get("/metrics").status == 200
    finally:
        postgres.start()
    wait_until(lambda: (s := Scrape.of(broker)).sum("queen_database_up") == 1 and s.sum("queen_buffer_messages") == 0,
               60, "the buffer to be drained")
