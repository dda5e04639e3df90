"""Spans of the broker's own, as a collector gets them, and what a bad collector costs: nothing."""

import contextlib
import json
import os
import secrets
import subprocess
import threading

import pytest

from support.collector import Collector
from support.postgres import Postgres
from support.process import free_port, wait_until

PRODUCER, CONSUMER, CLIENT = 4, 5, 3


@pytest.fixture(scope="module")
def shared_postgres():
    with contextlib.closing(Postgres()) as postgres:
        postgres.start()
        yield postgres


@pytest.fixture
def collector(closing):
    return closing(Collector())


@pytest.fixture
def serve(make_broker, shared_postgres):
    """serve(collector or URL, **env) -> a Broker that sends its spans there at once."""
    def start(target, **env):
        url = target.url if isinstance(target, Collector) else target
        return make_broker("--num-workers", "2", env=shared_postgres.env() | {
            "LOG_FORMAT": "json", "OTEL_EXPORTER_OTLP_ENDPOINT": url, "OTEL_BSP_SCHEDULE_DELAY": "20"} | env).start()
    return start


class Caller:
    """A service with a span of its own, which its requests carry."""

    def __init__(self, sampled=True):
        self.trace, self.span = secrets.token_hex(16), secrets.token_hex(8)
        self.traceparent = f"00-{self.trace}-{self.span}-0{int(sampled)}"
        self.headers = {"traceparent": self.traceparent}

    @property
    def context(self):
        return self.trace, self.span


def context_of(traceparent):
    _, trace, span, flags = traceparent.split("-")
    assert flags == "01"
    return trace, span


def push(broker, queue, *items, headers=None):
    reply = broker.post("/api/v1/push", {"items": [{"queue": queue, **item} for item in items]}, headers=headers)
    assert reply.status == 201 and all(one["status"] == "queued" for one in reply.json()), reply
    return reply.json()


def pop(broker, queue, headers=None, **params):
    query = "&".join(f"{name}={value}" for name, value in params.items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}", headers=headers)
    return reply.json()["messages"] if reply.status == 200 else []


def ack_of(message, status="completed"):
    return {key: message[key] for key in ("transactionId", "partitionId", "leaseId")} | {
        "status": status, "consumerGroup": message["consumerGroup"]}


def ack(broker, messages, headers=None):
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [ack_of(one) for one in messages]}, headers=headers)
    assert reply.status == 200 and all(one["success"] for one in reply.json()), reply


def test_a_message_is_followed_through_two_services(collector, serve):
    """shop pushes to orders; billing pops it, and acks it and pushes to invoices in one transaction; mail pops
    that, and acks it. Who acts is the parent, and the messages are the links."""
    broker = serve(collector, OTEL_SERVICE_NAME="broker-1", OTEL_RESOURCE_ATTRIBUTES="deployment.environment=test%201",
                   OTEL_EXPORTER_OTLP_HEADERS="api-key=s%3D1")
    shop, customer, billing, mail = Caller(), Caller(), Caller(), Caller()
    queued = push(broker, "orders", {"payload": 1}, {"payload": 2, "transactionId": "second"},
                  {"payload": 3, "headers": {"traceparent": customer.traceparent}}, headers=shop.headers)
    sent, = collector.wait_for("push orders")
    assert (sent.kind, sent.trace, sent.parent) == (PRODUCER, shop.trace, shop.span)
    assert [link.context for link in sent.links] == [customer.context]
    assert sent.attributes == {
        "messaging.system": "queen", "messaging.operation.name": "push", "messaging.operation.type": "send",
        "messaging.destination.name": "orders", "messaging.destination.partition.id": "Default",
        "messaging.batch.message_count": 3, "queen.message.ids": [one["message_id"] for one in queued],
        "queen.partition.id": queued[0]["partition_id"]}
    assert sent.resource["service.name"] == "broker-1" and sent.resource["deployment.environment"] == "test 1"
    assert sent.resource["service.version"]
    path, headers = collector.requests[0]
    assert path == "/v1/traces" and headers["content-type"] == "application/json" and headers["api-key"] == "s=1"

    messages = pop(broker, "orders", billing.headers, batch=10, consumerGroup="billing")
    traces = [context_of(message["headers"]["traceparent"]) for message in messages]
    assert traces == [sent.context, sent.context, customer.context]
    received, = collector.wait_for("pop orders")
    assert (received.kind, received.trace, received.parent) == (CONSUMER, billing.trace, billing.span)
    assert [link.context for link in received.links] == traces
    assert [link.attributes["messaging.message.id"] for link in received.links] == [m["id"] for m in messages]
    assert received.attributes["messaging.consumer.group.name"] == "billing"
    assert received.attributes["messaging.batch.message_count"] == 3
    assert received.attributes["queen.lease.id"] == messages[0]["leaseId"]

    done = broker.post("/api/v1/transaction", {"operations": [
        {"type": "ack", **ack_of(messages[0])}, {"type": "push", "items": [{"queue": "invoices", "payload": 1}]}]},
        headers=billing.headers)
    assert done.json()["success"], done
    moved, = collector.wait_for("transaction invoices")
    assert (moved.kind, moved.trace, moved.parent) == (PRODUCER, billing.trace, billing.span)
    assert [link.context for link in moved.links] == [sent.context]
    ack(broker, messages[1:], billing.headers)
    settled, = collector.wait_for("ack orders")
    assert (settled.kind, settled.trace, settled.parent) == (CLIENT, billing.trace, billing.span)
    assert [link.context for link in settled.links] == traces[1:]
    assert settled.attributes["queen.ack.status"] == "completed"
    assert settled.attributes["messaging.operation.type"] == "settle"
    assert settled.attributes["queen.message.ids"] == [message["id"] for message in messages[1:]]

    invoice, = pop(broker, "invoices", mail.headers, autoAck="true")
    assert context_of(invoice["headers"]["traceparent"]) == moved.context
    mailed, = collector.wait_for("pop invoices")
    assert mailed.parent == mail.span and [link.context for link in mailed.links] == [moved.context]
    assert mailed.attributes["queen.pop.auto_ack"] is True and mailed.attributes["messaging.message.id"] == invoice["id"]


def test_without_a_caller_a_push_is_below_its_messages_or_begins_a_trace(collector, serve):
    broker = serve(collector)
    producer, other = Caller(), Caller()
    push(broker, "one", {"headers": {"traceparent": producer.traceparent}}, {"headers": {"traceparent": producer.traceparent}})
    span, = collector.wait_for("push one")
    assert (span.trace, span.parent, span.links) == (producer.trace, producer.span, [])

    push(broker, "two", {"headers": {"traceparent": producer.traceparent}}, {"headers": {"traceparent": other.traceparent}}, {})
    span, = collector.wait_for("push two")
    assert span.parent is None and span.trace not in (producer.trace, other.trace)
    assert [link.context for link in span.links] == [producer.context, other.context]

    push(broker, "root", {})
    begun, = collector.wait_for("push root")
    assert begun.parent is None and begun.links == []
    message, = pop(broker, "root")
    assert context_of(message["headers"]["traceparent"]) == begun.context
    taken, = collector.wait_for("pop root")
    assert taken.parent is None and taken.trace != begun.trace
    assert [link.context for link in taken.links] == [begun.context]
    ack(broker, [message])
    settled, = collector.wait_for("ack root")
    assert [link.context for link in settled.links] == [begun.context]
    assert settled.attributes["messaging.message.id"] == message["id"]


def test_what_is_not_sampled_has_no_span(collector, serve):
    broker = serve(collector)
    silent, loud = Caller(sampled=False), Caller()
    push(broker, "quiet", {}, headers=silent.headers)
    message, = pop(broker, "quiet", silent.headers)
    assert message["headers"] == silent.headers, "it travels all the same"
    assert pop(broker, "quiet", loud.headers) == [], "and nothing delivered is nothing to tell"
    ack(broker, [message], silent.headers)
    push(broker, "loud", {}, headers=loud.headers)
    collector.wait_for("push loud")
    assert broker.stop() == 0
    assert [span.name for span in collector.spans()] == ["push loud"]


def test_the_sampler_is_the_one_that_is_named(collector, serve):
    broker = serve(collector, OTEL_TRACES_SAMPLER="parentbased_traceidratio", OTEL_TRACES_SAMPLER_ARG="0")
    push(broker, "sampled", {})
    assert "headers" not in pop(broker, "sampled", autoAck="true")[0]
    push(broker, "sampled", {}, headers=Caller().headers)
    collector.wait_for("push sampled")
    assert broker.stop() == 0
    assert [span.name for span in collector.spans()] == ["push sampled"]


def test_a_pop_that_waited_says_so_and_a_refused_ack_is_an_error(collector, serve):
    broker = serve(collector)
    caller, got = Caller(), []
    waiting = threading.Thread(target=lambda: got.extend(
        pop(broker, "wait", caller.headers, wait="true", timeout=60000)))
    waiting.start()
    wait_until(lambda: broker.get("/api/v1/system/shared-state").json()["group_backoff"]["groups_tracked"] > 0,
               what="the pop to be parked")
    push(broker, "wait", {})
    waiting.join(timeout=60)
    span, = collector.wait_for("pop wait")
    assert span.attributes["queen.pop.waited"] is True and span.parent == caller.span
    ack(broker, got)
    reply = broker.post("/api/v1/ack", ack_of(got[0]) | {"transactionId": "nobody"}, headers=caller.headers)
    assert not reply.json()[0]["success"]
    refused, = collector.wait_for("ack")
    assert refused.status == {"code": 2, "message": "Message not found"}
    assert refused.attributes["error.type"] == "refused" and refused.parent == caller.span


def totals(broker):
    """What the stopped broker says of its spans."""
    lines = [json.loads(line) for line in broker.log().splitlines() if line.startswith("{")]
    line, = [line for line in lines if line["message"] == "spans"]
    return line


def scraped(broker, name):
    """The value of a metric of spans."""
    lines = broker.get("/metrics/prometheus").body.decode().splitlines()
    value, = [line.split()[-1] for line in lines if line.startswith(f"queen_trace_{name} ")]
    return float(value)


def work(broker, count):
    """Messages through the broker, each pushed, popped and acked: three spans."""
    for number in range(count):
        push(broker, "work", {"payload": number})
        message, = pop(broker, "work")
        assert message["data"] == number
        ack(broker, [message])


@pytest.mark.parametrize("kind", ["away", "hangs", "busy", "refuses"])
def test_a_bad_collector_costs_only_spans_which_are_counted(collector, serve, kind):
    target = collector
    if kind == "away":
        target = f"http://127.0.0.1:{free_port()}"
    elif kind == "hangs":
        collector.hang()
    else:
        collector.answers = [503 if kind == "busy" else 400] * 1000
    broker = serve(target, OTEL_BSP_MAX_QUEUE_SIZE="4", QUEEN_SHUTDOWN_TIMEOUT_MS="2000")
    work(broker, 20)
    reason = "not_sent" if kind == "refuses" else "buffer_full"
    wait_until(lambda: scraped(broker, f'spans_dropped_total{{reason="{reason}"}}') > 0, what="dropped spans in a scrape")
    assert broker.stop() == 0
    spans = totals(broker)
    assert spans["exported"] == 0 and spans["sends_failed"] > 0
    assert spans["dropped"] == 60, "whatever has happened to a span, it is counted once"
    if kind != "refuses":
        assert spans["buffer_full"] > 0
    assert "spans could not be sent" in broker.log()


def test_a_collector_that_comes_back_gets_what_waited(collector, serve):
    collector.answers = [503, 429]
    broker = serve(collector)
    work(broker, 5)
    for name in ("push work", "pop work", "ack work"):
        collector.wait_for(name, 5)
    wait_until(lambda: scraped(broker, "spans_exported_total") == 15, what="exported spans in a scrape")
    assert scraped(broker, "sends_failed_total") == 2
    assert broker.stop() == 0
    spans = totals(broker)
    assert (spans["exported"], spans["dropped"], spans["sends_failed"]) == (15, 0, 2)


def test_the_last_spans_are_sent_before_the_broker_ends(collector, serve):
    broker = serve(collector, OTEL_BSP_SCHEDULE_DELAY="3600000")
    work(broker, 5)
    assert collector.spans() == []
    assert broker.stop() == 0
    assert len(collector.spans()) == 15


def test_https_is_checked(closing, serve, directory):
    tls = os.path.join(directory, "collector.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                    "-days", "2", "-subj", "/CN=collector", "-addext", "subjectAltName=IP:127.0.0.1",
                    "-keyout", tls, "-out", tls + ".crt"], check=True, capture_output=True, timeout=60)
    with open(tls + ".crt", encoding="ascii") as certificate, open(tls, "a", encoding="ascii") as both:
        both.write(certificate.read())
    collector = closing(Collector(tls))
    trusting = serve(collector, OTEL_EXPORTER_OTLP_CERTIFICATE=tls + ".crt")
    push(trusting, "secret", {})
    collector.wait_for("push secret")
    suspicious = serve(collector)
    push(suspicious, "secret", {})
    wait_until(lambda: "certificate" in suspicious.log(), what="a complaint about the certificate")
    assert suspicious.stop() == 0
    assert totals(suspicious)["exported"] == 0
    collector.wait_for("push secret", 1)


def test_a_cycle_of_a_stream_has_a_span(collector, serve):
    broker = serve(collector)
    source, caller = Caller(), Caller()
    query = broker.post("/streams/v1/queries", {"name": "traced", "source_queue": "cycle-in", "config_hash": "h"})
    push(broker, "cycle-in", {}, headers=source.headers)
    message, = pop(broker, "cycle-in", consumerGroup="g")
    reply = broker.post("/streams/v1/cycle", {
        "query_id": query.json()["query_id"], "partition_id": message["partitionId"], "consumer_group": "g",
        "push_items": [{"queue": "cycle-out", "payload": 1}],
        "ack": {"transactionId": message["transactionId"], "leaseId": message["leaseId"]}}, headers=caller.headers)
    assert reply.json()["success"], reply
    span, = collector.wait_for("stream_cycle cycle-out")
    assert (span.kind, span.trace, span.parent) == (PRODUCER, caller.trace, caller.span)
    assert [link.context for link in span.links] == [context_of(message["headers"]["traceparent"])]
    result, = pop(broker, "cycle-out")
    assert context_of(result["headers"]["traceparent"]) == span.context


def talks_to(broker):
    """The ports of others that the broker has a TCP connection to, its own clients left out."""
    files = f"/proc/{broker.pid}/fd"
    sockets = set()
    for file in os.listdir(files):
        with contextlib.suppress(OSError):
            sockets.add(os.readlink(f"{files}/{file}"))
    ports = set()
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{broker.pid}/net/{table}", encoding="ascii") as lines:
            for fields in (line.split() for line in list(lines)[1:]):
                own, other = (int(address.split(":")[1], 16) for address in fields[1:3])
                if f"socket:[{fields[9]}]" in sockets and own != broker.port:
                    ports.add(other)
    return ports


def test_nothing_is_sent_unless_somebody_asks_for_it(collector, serve, make_broker, shared_postgres):
    """Nor is anything added to messages."""
    collector.hang()
    asked = serve(collector)
    push(asked, "on", {})
    wait_until(lambda: collector.port in talks_to(asked), what="the broker to connect to its collector")
    collector.release()
    broker = make_broker(env=shared_postgres.env() | {"OTEL_SERVICE_NAME": "queen"}).start()
    push(broker, "off", {}, headers={"tracestate": "a=b"})
    message, = pop(broker, "off")
    ack(broker, [message])
    assert "headers" not in message
    assert talks_to(broker) <= {shared_postgres.port}
