"""Runs a history against brokers that are there already, or makes one.

    /usr/bin/python3 tests/history/run.py [--messages N] [--url http://host:port ...] [--seed S]

With several URLs the first takes the pushes and the others serve the pops. Afterwards the pages of operators are
compared with what the clients counted. Prints one line of counts and the seed (QUEEN_TEST_SEED or --seed replays the
choices); exits with 1 if a count is not zero.
"""

import argparse
import datetime
import os
import secrets
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from history import events, pages, workload  # noqa: E402
from support.broker import Broker  # noqa: E402
from support.postgres import Postgres  # noqa: E402


SETTINGS = {"METRICS_FLUSH_INTERVAL": "500"}  # the minutes are compared soon after the load


def new_seed():
    """QUEEN_TEST_SEED, or a new one."""
    return int(os.environ.get("QUEEN_TEST_SEED") or secrets.randbelow(1 << 31))


def check(plan, during=None):
    """Runs `plan`, prints the line of counts; True when all of them are zero."""
    print(f"history: seed={plan.seed}", flush=True)
    began = datetime.datetime.now(datetime.timezone.utc)
    pushed, groups, seconds = workload.run(plan, during)
    log = events.Log(pushed, groups)
    verdicts = [events.check_pushes(pushed)]
    verdicts += [events.check_group(log, consumed) for consumed in groups]
    verdicts.append(pages.compare(plan, log, groups, pushed, began))
    counts = {what: sum(verdict.counts[what] for verdict in verdicts) for what in events.COUNTS}
    numbers = " ".join(f"{what}={count}" for what, count in counts.items())
    stored = sum(len(producer.stored) for producer in pushed)
    asked = sum(producer.duplicates_asked for producer in pushed)
    delivered = sum(len(d.messages) for consumed in groups for d in consumed.deliveries)
    dead = sum(len(consumed.dead) for consumed in groups)
    redriven = sum(consumed.redriven for consumed in groups)
    print(f"history: {numbers} messages={stored} duplicates_refused={asked} groups={len(groups)} "
          f"delivered={delivered} dead={dead} redriven={redriven} seconds={seconds:.1f} seed={plan.seed}", flush=True)
    for verdict in verdicts:
        for words in verdict.words:
            print(f"history: {words}", flush=True)
    return all(verdicts)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--messages", type=int, default=200_000)
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--seed", type=int, default=new_seed())
    parser.add_argument("--producers", type=int, default=4)
    parser.add_argument("--consumers", type=int, default=3, help="per group")
    arguments = parser.parse_args()
    addresses = [(url.hostname, url.port) for url in map(urllib.parse.urlsplit, arguments.url)]
    made = []
    try:
        if not addresses:
            made.append(Postgres())
            made[0].start()
            made.append(Broker("--num-workers", "2", env=made[0].env() | SETTINGS))
            made[1].start()
            addresses = [(made[1].host, made[1].port)]
        plan = workload.Plan(arguments.messages, arguments.producers, arguments.consumers,
                             seed=arguments.seed, push_to=addresses[:1],
                             pop_from=addresses[1:] or addresses)
        return 0 if check(plan) else 1
    finally:
        for thing in reversed(made):
            thing.close()


if __name__ == "__main__":
    sys.exit(main())
