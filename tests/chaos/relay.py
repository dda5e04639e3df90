"""Relay: takes messages from one queue and puts them into another, each in one transaction with its ack.

Nothing that is pushed has a transactionId, so a transaction that was carried out twice, or of which only
half was, shows: at the end the second queue holds each message of the first exactly once, in order.
A transaction without an answer is not repeated; its messages come again if it was not carried out.
"""

import collections
import threading
import time
import traceback

from history.client import Client, Unanswered
from support.process import wait_until

SOURCE = "relay.source"
SINK = "relay.sink"
PARTITIONS = 6
LEASE_SECONDS = 3


class Relay:
    """A producer of numbers and two relays; `finish` ends them and counts."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.next = collections.Counter()  # partition -> numbers stored
        self.counts = collections.Counter()
        self._stop = threading.Event()
        self._done = threading.Event()
        self._errors = []
        self._feeder = threading.Thread(target=self._guard, args=(self._feed, addresses[0]))
        self._relays = [threading.Thread(target=self._guard, args=(self._relay, address))
                        for address in (addresses * 2)[:2]]
        for thread in (self._feeder, *self._relays):
            thread.start()

    def stop(self):
        """No more numbers."""
        self._stop.set()
        self._feeder.join()

    def close(self):
        """Ends it, whatever is left to do."""
        self._stop.set()
        self._done.set()
        for thread in (self._feeder, *self._relays):
            thread.join()

    def finish(self, seconds=120):
        """(lost, duplicated, reordered), when everything has been relayed. The brokers must be up."""
        self.stop()
        client = Client(self.addresses[0])
        expected = sum(self.next.values())
        came = collections.defaultdict(list)

        def all_came():
            status, reply = client.pop(SINK, batch=10000, partitions=100, autoAck="true", wait="true",
                                       timeout=500)
            for message in reply["messages"] if status == 200 else ():
                came[message["partition"]].append(message["data"])
            return bool(self._errors) or \
                (status == 204 and sum(len(numbers) for numbers in came.values()) >= expected)
        try:
            wait_until(all_came, seconds, "everything to be relayed")
        except AssertionError as error:
            print(f"relay: {error}", flush=True)
        self.close()
        assert not self._errors, self._errors[0]
        lost = sum(len(set(range(count)) - set(came[name])) for name, count in self.next.items())
        doubled = sum(len(numbers) - len(set(numbers)) for numbers in came.values())
        reordered = sum(a >= b for numbers in came.values() for a, b in zip(numbers, numbers[1:]))
        print(f"relay: lost={lost} duplicated={doubled} reordered={reordered} messages={expected} "
              f"{dict(self.counts)}", flush=True)
        return lost, doubled, reordered

    def _guard(self, work, address):
        try:
            work(Client(address))
        except BaseException:  # pylint: disable=broad-except
            self._errors.append(traceback.format_exc())

    def _feed(self, client):
        number = 0
        while not self._stop.is_set():
            name = f"p{number % PARTITIONS}"
            number += 1
            item = {"queue": SOURCE, "partition": name, "payload": self.next[name],
                    "transactionId": f"{name} {self.next[name]}"}
            status, outcomes = client.insist("POST", "/api/v1/push", {"items": [item]})
            assert status == 201 and outcomes[0]["status"] in ("queued", "duplicate", "buffered"), \
                (status, outcomes)
            self.next[name] += 1
            self._stop.wait(0.01)

    def _relay(self, client):
        while not self._done.is_set():
            try:
                status, reply = client.pop(SOURCE, batch=5, wait="true", timeout=500,
                                           leaseTime=LEASE_SECONDS)
                if status == 200:
                    self._move(client, reply["messages"])
                elif status == 503:
                    time.sleep(0.05)
                else:
                    assert status == 204, (status, reply)
            except Unanswered:
                self.counts["unanswered"] += 1
                time.sleep(0.05)

    def _move(self, client, messages):
        operations = [{"type": "push", "items": [
            {"queue": SINK, "partition": message["partition"], "payload": message["data"]}
            for message in messages]}]
        operations += [{"type": "ack", "transactionId": message["transactionId"], "partitionId":
                        message["partitionId"], "leaseId": message["leaseId"]} for message in messages]
        status, reply = client.request("POST", "/api/v1/transaction", {"operations": operations})
        assert status in (200, 503), (status, reply)
        if status == 200:
            self.counts["done" if reply["success"] else "refused"] += 1
        else:
            self.counts[reply["code"]] += 1
