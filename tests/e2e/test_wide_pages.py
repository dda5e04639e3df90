"""Pages of operators are bounded, and neither slow ones nor such as nobody reads keep others from their work."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.process import wait_until
from support.psql_session import PsqlSession

QUEUES = 100
PAGE = "/api/v1/analytics/queue-ops?from=2000-01-01&limit=100"


@pytest.fixture(name="broker")
def busy_broker(make_broker):
    """Has counted something for each of a hundred queues, whose names take twice their length in JSON."""
    broker = make_broker(env={"METRICS_FLUSH_INTERVAL": "100"}).start()
    broker.post("/api/v1/push", {"items": [{"queue": f"queue-{n:02}" + '"' * 240, "payload": n} for n in range(QUEUES)]})
    wait_until(lambda: len(broker.get(PAGE).json()["queues"]) == QUEUES, what="the minute to be written down")
    return broker


def test_a_page_of_series_is_bounded(broker):
    page = broker.get(PAGE).json()
    assert page["pointCount"] * QUEUES == len(page["series"]) and 5_000 < len(page["series"]) <= 10_000
    assert page["bucketMinutes"] > 24 * 60
    assert sum(point["pushMessages"] for point in page["series"]) == QUEUES
    lag = broker.get("/api/v1/analytics/queue-lag?from=2000-01-01&limit=100&interval=1m").json()
    assert 5_000 < len(lag) <= 10_000
    # What fits is shown as it was asked for.
    page = broker.get("/api/v1/analytics/queue-ops?limit=100").json()
    assert page["bucketMinutes"] == 1 and page["pointCount"] in (60, 61)
    for path in ("/api/v1/status/analytics", "/api/v1/analytics/worker-metrics"):
        page = broker.get(f"{path}?interval=1m&from=2020-01-01&to=2026-01-01").json()
        assert 1_000 < page["pointCount"] <= 1_500, path


def held(broker):
    """Bytes of replies that their clients have not taken."""
    lines = broker.get("/metrics/prometheus").body.decode().splitlines()
    return float(next(line for line in lines if line.startswith("queen_http_reply_bytes ")).split()[1])


def test_unread_pages_do_not_stop_pops(broker):
    broker.post("/api/v1/push", {"items": [{"queue": "work", "payload": "x" * 1500} for _ in range(1000)]})
    page = len(broker.get(PAGE).body)
    assert page > 5_000_000  # more than the kernel takes off the broker's hands
    broker.stop()
    broker.env["QUEEN_HTTP_REPLY_BYTES_MAX"] = str(page * 4)
    broker.start()
    silent = []
    for _ in range(8):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((broker.host, broker.port))
        connection.sendall(f"GET {PAGE} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        silent.append(connection)
    wait_until(lambda: held(broker) > page / 2, 60, "a page that nobody reads")
    assert broker.get(PAGE).status == 503
    taken = [len(broker.get(f"/api/v1/pop/queue/work?batch={batch}&consumerGroup=g{batch}").json()["messages"])
             for batch in (1, 10, 1000)]
    assert taken == [1, 10, 1000]
    for connection in silent:
        connection.close()
    wait_until(lambda: broker.get(PAGE).status == 200, 60, "room for a page")


def test_slow_pages_do_not_stop_configure(make_broker, postgres, closing):
    """Reports have half of the connections: a change finds one however slow they are."""
    broker = make_broker(env=postgres.env()).start()
    session = closing(PsqlSession(postgres))
    session.run("BEGIN; LOCK TABLE queen.queue_minutes IN ACCESS EXCLUSIVE MODE")
    with ThreadPoolExecutor(6) as pool:
        pages = [pool.submit(broker.get, PAGE, timeout=60) for _ in range(6)]
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'queen.queue_minutes'::regclass"
        wait_until(lambda: int(session.run(waiting)) >= 2, what="pages that wait for the table")
        for n in range(4):
            assert broker.post("/api/v1/configure", {"queue": f"made-{n}"}).status == 200
        session.run("COMMIT")
        assert {page.result().status for page in pages} <= {200, 503}  # 503: after five seconds without a connection
    assert broker.get(PAGE).status == 200
