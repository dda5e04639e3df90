#!/usr/bin/env python3
"""How long a message pushed at one broker takes to a long poll that waits at another.

    bench/wake.py                          200 messages, with the brokers telling each other and without

Prints the time from the push's answer, and from sending the push, to the answer of the poll. One message at a
time; a poll has waited for a while when its message is pushed.
"""
import argparse
import contextlib
import http.client
import json
import os
import random
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cluster import start_brokers  # noqa: E402
from tests.support.postgres import Postgres  # noqa: E402


class Client:
    """One connection that is kept."""

    def __init__(self, broker):
        self._connection = http.client.HTTPConnection(broker.host, broker.port, timeout=60)
        self._connection.connect()
        self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def request(self, method, path, body=None):
        self._connection.request(method, path, body=body)
        reply = self._connection.getresponse()
        data = reply.read()
        assert reply.status in (200, 201, 204), (reply.status, data)
        return json.loads(data) if data else None


def measure(messages, told, seed):
    """(ms from the push's answer, ms from its sending) for each message."""
    rng = random.Random(seed)
    with contextlib.ExitStack() as stack:
        postgres = stack.enter_context(contextlib.closing(Postgres({"fsync": "on"})))
        postgres.start()
        here, there = start_brokers(stack, postgres, 2, told)
        producer, consumer = Client(there), Client(here)
        item = json.dumps({"items": [{"queue": "wake", "payload": 1}]})
        poll = "/api/v1/pop/queue/wake?consumerGroup=g&autoAck=true&wait=true&timeout=30000"
        producer.request("POST", "/api/v1/push", item)
        consumer.request("GET", poll)
        times = []
        for _ in range(messages):
            got = []
            waiter = threading.Thread(target=lambda g=got: g.append((consumer.request("GET", poll), time.monotonic())))
            waiter.start()
            time.sleep(rng.uniform(0.05, 0.5))
            sent = time.monotonic()
            producer.request("POST", "/api/v1/push", item)
            answered = time.monotonic()
            waiter.join()
            assert got[0][0]["messages"]
            times.append(((got[0][1] - answered) * 1e3, (got[0][1] - sent) * 1e3))
        return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("| | from | p50 ms | p90 ms | p99 ms |\n|---|---|---|---|---|")
    for told, name in ((True, "told by UDP"), (False, "own checks only")):
        times = measure(options.messages if told else max(20, options.messages // 5), told, options.seed)
        for place, since in enumerate(("the push's answer", "sending the push")):
            values = sorted(pair[place] for pair in times)
            cells = (f"{values[min(len(values) - 1, int(len(values) * share))]:.1f}" for share in (0.5, 0.9, 0.99))
            print(f"| {name} | {since} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
