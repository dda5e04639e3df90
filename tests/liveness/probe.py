"""The watchdog: how slow the machine itself is. Trips that no waiter has anything to do with are made all the
time, one behind the other; where they take long, so does everything."""

import asyncio
import collections
import time

PAUSE = 0.02
USUAL = 0.03  # a trip of this length is nothing to speak of
TRIPS = 5     # a waiter is served in so many at most: asked about, tried in vain, leased, read, answered
KEPT = 60.0   # seconds


class Probe:
    """Pushes a message to a queue of its own and pops it, over and over."""

    def __init__(self, client, queue):
        self.client, self.queue = client, queue
        self.trips = collections.deque()  # (begin, end)
        self._begun = None

    async def run(self):
        """Until it is cancelled."""
        while True:
            self._begun = time.monotonic()
            await self.client.request("POST", "/api/v1/push", {"items": [{"queue": self.queue, "payload": 1}]})
            await self.client.request("GET", f"/api/v1/pop/queue/{self.queue}?autoAck=true")
            await asyncio.sleep(PAUSE)  # part of the trip: so the stalls of this process are seen as well
            now = time.monotonic()
            self.trips.append((self._begun, now - PAUSE))
            while self.trips[0][1] < now - KEPT:
                self.trips.popleft()

    def slowest(self, begin, end):
        """The longest trip that was under way in that time; the present one counts so far."""
        trips = [done - begun for begun, done in self.trips if done >= begin and begun <= end]
        if self._begun is not None:
            trips.append(time.monotonic() - self._begun - PAUSE)
        return max(trips, default=0.0)

    def slack(self, begin, end):
        """By how much a waiter may be late in that time: nothing on a machine that answers promptly."""
        return TRIPS * max(0.0, self.slowest(begin, end) - USUAL)
