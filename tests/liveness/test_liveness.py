"""Waiters and what becomes ready for them; `make liveness` does it for longer."""

import asyncio
import time

import pytest

from history.run import new_seed
from liveness.client import Client
from liveness.run import TIMER_SLACK_MS, WORKERS, check
from support.process import coarse_timers

SECONDS = 25
ROUNDS = 4
PARTITIONS = 100
WAITERS = 10
ARRIVALS = 20


@pytest.fixture
def broker(postgres, make_broker):
    broker = make_broker("--num-workers", str(WORKERS), env=postgres.env())
    with coarse_timers(TIMER_SLACK_MS):
        return broker.start()


def test_no_waiter_is_left_behind(broker):
    check((broker.host, broker.port), new_seed(), SECONDS)


def test_pops_that_come_when_many_partitions_are_due_leave_something_to_those_who_wait(broker):
    """There is more than enough for all: whoever gets nothing was not told."""
    async def play():
        client = Client(broker.host, broker.port)
        await client.warm(WAITERS + ARRIVALS)
        try:
            for number in range(ROUNDS):
                assert await due_at_once(client, f"due{number}") == {200}
        finally:
            client.close()

    asyncio.run(play())


async def due_at_once(client, queue):
    """Waiters, then pops that come while a delay of all partitions is over; returns how they were answered."""
    def pop():
        return asyncio.ensure_future(client.request("GET", f"/api/v1/pop/queue/{queue}?wait=true&timeout=4000"))

    await client.request("POST", "/api/v1/configure", {"queue": queue, "options": {"delayedProcessing": 1}})
    begin = time.monotonic() + 1
    await client.request("POST", "/api/v1/push", {"items": [
        {"queue": queue, "partition": f"p{number}", "payload": 1} for number in range(PARTITIONS)]})
    end = time.monotonic() + 1.03
    pops = [pop() for _ in range(WAITERS)]
    await asyncio.sleep(begin - time.monotonic())
    for _ in range(ARRIVALS):
        pops.append(pop())
        await asyncio.sleep((end - begin) / ARRIVALS)
    return {status for status, _ in await asyncio.gather(*pops)}
