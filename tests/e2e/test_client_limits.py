"""Limits of one client: who asks for too much is refused and told when to come again; nobody else notices."""

import http.client
import json
import socket
import threading

import pytest

from support.process import wait_until
from support.scrape import Scrape

GREEDY, MODEST = "127.0.0.2", "127.0.0.3"
LONG = 60


@pytest.fixture
def start(make_broker, postgres):
    """A broker with limits."""
    def make(**env):
        return make_broker(env={"DATABASE_URL": postgres.url, "NUM_WORKERS": "2", **env}).start()
    return make


def connect(broker, address):
    """A connection from `address`."""
    return http.client.HTTPConnection(broker.host, broker.port, timeout=LONG, source_address=(address, 0))


def ask(connection, method, path, body=None):
    """(status, headers, body)."""
    connection.request(method, path, body)
    reply = connection.getresponse()
    return reply.status, reply.headers, reply.read()


def push(connection, payload=1):
    """One message."""
    return ask(connection, "POST", "/api/v1/push", json.dumps({"items": [{"queue": "q", "payload": payload}]}))


def test_one_client_does_not_starve_another(start):
    broker = start(QUEEN_RATE_REQUESTS="20")
    stop, statuses = threading.Event(), []

    def be_greedy():
        connection = connect(broker, GREEDY)
        while not stop.is_set():
            statuses.append(push(connection)[0])
        connection.close()

    threads = [threading.Thread(target=be_greedy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        wait_until(lambda: 429 in statuses, LONG, "a refusal")
        modest = connect(broker, MODEST)
        assert [push(modest)[0] for _ in range(10)] == [201] * 10
        wait_until(lambda: statuses.count(201) > 20, LONG, "the greedy one to be served, too")
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert set(statuses) == {201, 429}
    scrape = Scrape.of(broker)
    assert scrape.sum("queen_http_client_refusals_total", limit="requests") == statuses.count(429)
    assert scrape.sum("queen_http_clients_limited") >= 2


def test_how_a_client_is_told(start):
    broker = start(QUEEN_RATE_REQUESTS="1")
    connection = connect(broker, GREEDY)

    def refused(method, path, body=None):
        while True:
            status, headers, text = ask(connection, method, path, body)
            if status not in (200, 201, 204):
                return status, headers, json.loads(text)

    status, headers, body = refused("POST", "/api/v1/push", '{"items":[]}')
    assert status == 429 and int(headers["Retry-After"]) >= 1 and body["code"] == "too_many_requests"
    status, headers, body = refused("GET", "/api/v1/pop/queue/q")
    assert status == 503 and headers["Retry-After"] and "ECONNREFUSED" in body["error"], "a pop is never answered 429"
    for _ in range(20):
        assert ask(connection, "GET", "/health")[0] == 200
        assert ask(connection, "GET", "/metrics/prometheus")[0] == 200


def test_bytes(start):
    broker = start(QUEEN_RATE_BYTES="100KiB")
    connection = connect(broker, GREEDY)
    assert push(connection, "x" * 1_000_000)[0] == 201, "a full bucket lets in more than it holds"
    status, headers, _ = push(connection, "x" * 1_000)
    assert status == 429 and int(headers["Retry-After"]) >= 1
    assert push(connect(broker, MODEST), "x" * 1_000)[0] == 201
    assert Scrape.of(broker).sum("queen_http_client_refusals_total", limit="bytes") >= 1


def test_connections(start):
    broker = start(QUEEN_CLIENT_CONNECTIONS_MAX="3")
    greedy = [connect(broker, GREEDY) for _ in range(3)]
    assert [ask(connection, "GET", "/livez")[0] for connection in greedy] == [200] * 3
    status, headers, _ = ask(connect(broker, GREEDY), "GET", "/livez")
    assert status == 503 and headers["Retry-After"]
    assert ask(connect(broker, MODEST), "GET", "/livez")[0] == 200
    assert Scrape.of(broker).sum("queen_http_client_refusals_total", limit="connections") >= 1
    greedy[0].close()

    def let_in():
        with socket.create_connection((broker.host, broker.port), LONG, source_address=(GREEDY, 0)) as again:
            again.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return b" 200 " in again.recv(4096)

    wait_until(let_in, LONG, "a place that became free")
