"""Runs the model test against brokers that are there already, or makes one.

    /usr/bin/python3 tests/model/run.py [--seconds N] [--url http://host:port ...] [--seed S]

Prints the seed; QUEEN_TEST_SEED or --seed replays the choices. Exits with 1 on a violation.
"""

import argparse
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from history.run import new_seed  # noqa: E402
from model.driver import Driver  # noqa: E402
from model.model import Violation  # noqa: E402
from support.broker import Broker  # noqa: E402
from support.postgres import Postgres  # noqa: E402


def check(addresses, seed, seconds, **options):
    """Runs it; raises Violation."""
    print(f"model: seed={seed}", flush=True)
    driver = Driver(addresses, seed, **options)
    driver.run(seconds)
    messages = sum(len(place.messages) for place in driver.model.partitions.values())
    print(f"model: steps={driver.steps} messages={messages} violations=0 seed={seed}", flush=True)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--seed", type=int, default=new_seed())
    arguments = parser.parse_args()
    addresses = [(url.hostname, url.port) for url in map(urllib.parse.urlsplit, arguments.url)]
    made = []
    try:
        if not addresses:
            made.append(Postgres())
            made[0].start()
            made.append(Broker("--num-workers", "2", env=made[0].env()))
            made[1].start()
            addresses = [(made[1].host, made[1].port)]
        check(addresses, arguments.seed, arguments.seconds)
        return 0
    except Violation as violation:
        print(f"model: seed={arguments.seed} {violation}")
        return 1
    finally:
        for thing in reversed(made):
            thing.close()


if __name__ == "__main__":
    sys.exit(main())
