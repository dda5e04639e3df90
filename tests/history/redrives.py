"""Pushes dead letters again while the load runs, in bulk and one by one."""

import collections
import urllib.parse

PAUSE_SECONDS = 0.05


class Redriver:
    """One operator, who leaves what dies after the producers have stopped."""

    def __init__(self, rng, client, queue, groups):
        self.rng = rng
        self.client = client
        self.queue = queue
        self.groups = groups  # by their names on the pages
        self.redriven = collections.Counter()  # group -> dead letters

    def run(self, progress):
        """Until the producers have stopped."""
        while not progress.produced.wait(PAUSE_SECONDS) and not progress.failed.is_set():
            group = self.rng.choice(self.groups)
            self.redriven[group] += self._one(group) if self.rng.random() < 0.3 else self.bulk(group, self.rng.randint(1, 20))

    def bulk(self, group, limit):
        """Returns how many were pushed again."""
        return self._ask("POST", "/api/v1/dlq/redrive", {"queue": self.queue, "consumerGroup": group, "limit": limit})["redriven"]

    def _one(self, group):
        names = urllib.parse.urlencode({"queue": self.queue, "consumerGroup": group})
        letters = self._ask("GET", f"/api/v1/dlq?{names}&limit=10")["messages"]
        if not letters:
            return 0
        letter = self.rng.choice(letters)
        place = f"{letter['partitionId']}/{urllib.parse.quote(letter['transactionId'], safe='')}"
        names = urllib.parse.urlencode({"consumerGroup": group})
        redriven = self._ask("POST", f"/api/v1/messages/{place}/retry?{names}")["redriven"]
        assert [one["consumerGroup"] for one in redriven] == [group], (letter, redriven)
        return 1

    def _ask(self, method, path, body=None):
        status, reply = self.client.request(method, path, body)
        assert status == 200, (method, path, body, status, reply)
        return reply
