"""Probes: what one caller of each kind sees while something is broken, and afterwards.

    probes = Probes(broker)      a message in hand and a long poll that waits, before the fault
    probes.all_refused()         a pop, an ack, a transaction and lease extensions are answered 503 within
                                 their deadline
    probes.recovered()           the same ack and transaction succeed, and the long poll brings a message

The queue is the probes' own, so that load beside them does not matter.
"""

import json
import threading
import time

from history.client import Client, Unanswered
from support.process import wait_until

# The deadline of an operation is 30 s and a connection without an answer is given up after 35; what a
# machine with other work to do adds is not measured here.
DEADLINE_SECONDS = 90
LONG_POLL_MS = 600_000
# Of extensions one is on its way at a time; the others wait for it.
KINDS = ("pop", "ack", "transaction", "extend", "extend 2", "extend 3")


class Probes:
    """One caller of each kind. Uses partitions "held" and "awaited" of its queue."""

    def __init__(self, broker, queue="chaos.probes"):
        self.address = (broker.host, broker.port)
        self.queue = queue
        self.counts = {}
        self._push("held", 0)
        status, reply = self._client().pop(queue, "held", leaseTime=600)
        assert status == 200, (status, reply)
        self.message = reply["messages"][0]
        self._awaited = []
        self._poll = threading.Thread(target=self._wait_for_message, daemon=True)
        self._poll.start()

    # ---- the requests

    def pop(self, partition="nothing"):
        """A pop that does not wait."""
        return self._ask("GET", f"/api/v1/pop/queue/{self.queue}/partition/{partition}")

    def ack(self):
        """The ack of the message in hand."""
        return self._ask("POST", "/api/v1/ack", self._ack())

    def transaction(self):
        """A push and nothing else, which may be repeated: it has an id."""
        return self._ask("POST", "/api/v1/transaction", {"operations": [
            {"type": "push", "items": [{"queue": self.queue, "partition": "sink", "payload": 1,
                                        "transactionId": "once"}]}]})

    def extend(self, _=1):
        """More time for the message in hand."""
        return self._ask("POST", f"/api/v1/lease/{self.message['leaseId']}/extend", {"seconds": 600})

    # ---- the promises

    def all_refused(self, *kinds):
        """All at once; each answered 503 in the form that clients retry. Default: all kinds."""
        for kind, (status, reply) in self.ask_all(*kinds).items():
            assert status == 503, (kind, status, reply)
            assert "Connection refused (ECONNREFUSED)" in reply["error"], (kind, reply)
        assert not self._awaited, f"the long poll was answered: {self._awaited}"

    def ask_all(self, *kinds):
        """kind -> (status, reply), sent at once; every one is answered. "pop x" pops the partition x."""
        kinds = kinds or KINDS
        answers = {}
        threads = [threading.Thread(target=lambda k=kind: answers.update({k: getattr(self, k.split()[0])(*k.split()[1:2])}))
                   for kind in kinds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(answers) == set(kinds), f"not answered: {set(kinds) - set(answers)}"
        for kind, (status, _) in answers.items():
            kind = kind.split()[0]
            self.counts[f"{kind} {status}"] = self.counts.get(f"{kind} {status}", 0) + 1
        return answers

    def recovered(self, seconds=60):
        """Everybody is served again, without having done anything about it."""
        def served():
            status, reply = self.transaction()
            return status == 200 and (reply["success"] or "Duplicate" in reply["error"])
        wait_until(served, seconds, "a transaction to be taken")
        wait_until(lambda: self.pop()[0] == 204, seconds, "a pop to be answered")
        outcome = []

        def acked():
            status, reply = self.ack()
            outcome[:] = reply if status == 200 else []
            return status == 200
        wait_until(acked, seconds, "an ack to be taken")
        assert outcome[0]["success"], outcome
        assert not self._awaited, f"the long poll was answered: {self._awaited}"
        self._push("awaited", "now")
        self._poll.join(seconds)
        assert self._awaited and self._awaited[0][0] == 200, self._awaited
        assert [m["data"] for m in self._awaited[0][1]["messages"]] == ["now"]
        print("probes:", json.dumps(self.counts), flush=True)

    # ---- inside

    def _client(self):
        return Client(self.address)

    def _ask(self, method, path, body=None):
        return self._client().request(method, path, body, timeout=DEADLINE_SECONDS)

    def _ack(self):
        return {name: self.message[name] for name in ("transactionId", "partitionId", "leaseId")}

    def _push(self, partition, payload):
        item = {"queue": self.queue, "partition": partition, "payload": payload,
                "transactionId": f"probe {partition}"}
        status, outcomes = self._client().insist("POST", "/api/v1/push", {"items": [item]})
        assert status == 201 and outcomes[0]["status"] in ("queued", "duplicate", "buffered"), outcomes

    def _wait_for_message(self):
        path = f"/api/v1/pop/queue/{self.queue}/partition/awaited?wait=true&timeout={LONG_POLL_MS}"
        asked = time.monotonic()
        try:
            answer = self._client().request("GET", path, timeout=LONG_POLL_MS / 1000)
        except Unanswered as error:
            answer = (None, f"{error} after {time.monotonic() - asked:.1f} s")
        self._awaited.append(answer)
