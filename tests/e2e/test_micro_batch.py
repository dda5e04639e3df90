"""SIDECAR_MICRO_BATCH_WAIT_MS: pushes that come within the hold share one call of PostgreSQL."""

import http.client
import json
import time

HOLD_MS = 1_000
PUSHES = 3


def begin_push(broker, partition):
    """Sends a push and does not wait for its answer."""
    connection = http.client.HTTPConnection(broker.host, broker.port, timeout=30)
    body = json.dumps({"items": [{"queue": "hold", "partition": partition, "payload": 1}]})
    connection.request("POST", "/api/v1/push", body)
    return connection


def batches_of_one_round(broker, postgres):
    """How many calls PUSHES pushes took that came one after the other, and how long sending took."""
    before = int(postgres.psql("SELECT count(*) FROM queen.batches"))
    started = time.monotonic()
    connections = []
    for number in range(PUSHES):
        connections.append(begin_push(broker, f"p{number}"))
        for _ in range(10):  # the one worker has seen the push when it has answered what came later
            assert broker.get("/livez").status == 200
    took_ms = (time.monotonic() - started) * 1_000
    for connection in connections:
        assert connection.getresponse().status == 201
        connection.close()
    return int(postgres.psql("SELECT count(*) FROM queen.batches")) - before, took_ms


def test_what_comes_within_the_hold_goes_in_one_call(make_broker, postgres):
    broker = make_broker("--num-workers", "1", "--sidecar-micro-batch-wait-ms", str(HOLD_MS),
                         env=postgres.env()).start()
    batches_of_one_round(broker, postgres)  # makes the partitions
    for _ in range(10):
        batches, took_ms = batches_of_one_round(broker, postgres)
        if took_ms < HOLD_MS:  # else the machine was too busy to tell
            assert batches == 1
            return
    raise AssertionError("never were the pushes sent within the hold")
