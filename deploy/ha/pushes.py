"""A producer that notes what was stored and when, and a consumer that takes it all."""

import http.client
import json
import threading
import time
import uuid

QUEUE = "ha.failover"
PAUSE_SECONDS = 0.02
PATIENCE_SECONDS = 60


def ask(address, method, path, body=None):
    """(status, body), or (None, None) when there was no answer."""
    connection = http.client.HTTPConnection(*address, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        reply = connection.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException):
        return None, None
    finally:
        connection.close()


class Pushes:
    """One message after the other through one broker, each repeated until it is stored."""

    def __init__(self, address):
        self.address = address
        self.queue = QUEUE
        self.stored = set()   # transactionIds answered `queued`, or `duplicate` after a repetition
        self._times = []      # when
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        """Returns when the last one is stored, or given up."""
        self._over.set()
        self._thread.join(PATIENCE_SECONDS)

    def stored_since(self, moment):
        """How many, since that time of time.monotonic()."""
        return sum(1 for each in list(self._times) if each > moment)

    def longest_gap(self):
        """The longest time between two that were stored, in seconds."""
        times = list(self._times)
        return max((after - before for before, after in zip(times, times[1:])), default=0.0)

    def _run(self):
        txn = None
        while not self._over.is_set():
            txn = txn or str(uuid.uuid4())
            _, reply = ask(self.address, "POST", "/api/v1/push", {"items": [
                {"queue": QUEUE, "partition": f"{self.address[1]}", "payload": {"txn": txn}, "transactionId": txn}]})
            # `buffered` is no promise of the database: it is sent again, and found as a duplicate later.
            if isinstance(reply, list) and reply[0]["status"] in ("queued", "duplicate"):
                self.stored.add(txn)
                self._times.append(time.monotonic())
                txn = None
            self._over.wait(PAUSE_SECONDS)


def pop_all(address, queue):
    """The transactionIds of all messages that a new consumer group is given, up to the end."""
    group, found = f"checker-{uuid.uuid4()}", set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        status, reply = ask(address, "GET", f"/api/v1/pop/queue/{queue}?consumerGroup={group}&subscriptionMode=all"
                                            "&batch=1000&partitions=10&autoAck=true")
        if status == 204:
            break
        if status == 200:
            found |= {message["transactionId"] for message in reply["messages"]}
    return found
