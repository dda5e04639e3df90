"""Runs the liveness test against a broker that is there already, or makes one.

    /usr/bin/python3 tests/liveness/run.py [--seconds N] [--url http://host:port] [--seed S]

Prints the seed; QUEEN_TEST_SEED or --seed replays the choices (not their timing). Exits with 1 when a waiter was
served later than half a second after something had become ready for it.
"""

import argparse
import asyncio
import os
import random
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from history.run import new_seed  # noqa: E402
from liveness.client import Client  # noqa: E402
from liveness.driver import Scene  # noqa: E402
from liveness.probe import Probe  # noqa: E402
from liveness.readiness import Readiness, Violation  # noqa: E402
from support.broker import Broker  # noqa: E402
from support.postgres import Postgres  # noqa: E402
from support.process import coarse_timers  # noqa: E402

SCENES = 6  # at once
CROWDED = 3  # of them
# The broker's timers are so late that pops can come before them although their time is over.
TIMER_SLACK_MS = 50
SCENE_SECONDS = 2.0
WORKERS = 8  # a loop that is hardly ever awake is the hardest to wake


async def play(address, seed, seconds):
    """Scene after scene, several at once; returns (readiness, probe, number of pops)."""
    client, watchdog = Client(*address), Client(*address)
    probe = Probe(watchdog, f"probe{seed}")
    readiness = Readiness(probe.slack)
    ends = time.monotonic() + seconds
    pops = 0

    async def stage(number):
        nonlocal pops
        rng = random.Random(f"{seed}-{number}")
        scenes = 0
        while time.monotonic() < ends - 1:
            scenes += 1
            scene = Scene(client, readiness, rng, f"s{seed}x{number}x{scenes}", crowded=number < CROWDED)
            await scene.run(min(SCENE_SECONDS, ends - time.monotonic()))
            pops += scene.pops

    probing = asyncio.ensure_future(probe.run())
    await asyncio.gather(*(stage(number) for number in range(SCENES)))
    probing.cancel()
    client.close()
    watchdog.close()
    return readiness, probe, pops


def check(address, seed, seconds):
    """Runs it; raises Violation."""
    print(f"liveness: seed={seed}", flush=True)
    readiness, probe, pops = asyncio.run(play(address, seed, seconds))
    slowest = probe.slowest(0, time.monotonic())
    print(f"liveness: pops={pops} judged={readiness.judged} longest={readiness.longest * 1000:.0f}ms "
          f"slowest_probe={slowest * 1000:.0f}ms excused={len(readiness.excused)} "
          f"violations={len(readiness.violations)} seed={seed}", flush=True)
    for story in readiness.excused[:3]:
        print(f"liveness: excused: {story}")
    if readiness.violations:
        shown = "\n  ".join(readiness.violations[:20])
        raise Violation(f"seed {seed}, {len(readiness.violations)} times:\n  {shown}")
    assert readiness.judged > 0, "nobody ever waited beside something ready: nothing was tested"


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--url")
    parser.add_argument("--seed", type=int, default=new_seed())
    arguments = parser.parse_args()
    made = []
    try:
        if arguments.url:
            url = urllib.parse.urlsplit(arguments.url)
            address = (url.hostname, url.port)
        else:
            made.append(Postgres())
            made[0].start()
            made.append(Broker("--num-workers", str(WORKERS), env=made[0].env()))
            with coarse_timers(TIMER_SLACK_MS):
                made[1].start()
            address = (made[1].host, made[1].port)
        check(address, arguments.seed, arguments.seconds)
        return 0
    except Violation as violation:
        print(f"liveness: {violation}")
        return 1
    finally:
        for thing in reversed(made):
            thing.close()


if __name__ == "__main__":
    sys.exit(main())
