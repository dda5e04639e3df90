"""Runs the model test against brokers that are there already, or makes one.

    /usr/bin/python3 tests/model/run.py [--seconds N] [--url http://host:port ...] [--seed S]

Prints the seed; QUEEN_TEST_SEED or --seed replays the choices. Exits with 1 on a violation; every
request and reply up to it, and every state of every group if the database is ours, are then in a
file.
"""

import argparse
import os
import sys
import tempfile
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from history.run import new_seed  # noqa: E402
from model.driver import Driver  # noqa: E402
from model.state import Violation  # noqa: E402
from support.broker import Broker  # noqa: E402
from support.postgres import Postgres  # noqa: E402

# The sweeps remove old states; this keeps a copy of all.
KEEP_STATES = """
    CREATE TABLE queen.kept_progress (n bigserial, LIKE queen.progress);
    CREATE FUNCTION queen.keep_progress() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO queen.kept_progress SELECT nextval('queen.kept_progress_n_seq'), NEW.*;
        RETURN NEW; END $$;
    CREATE TRIGGER keep AFTER INSERT ON queen.progress FOR EACH ROW EXECUTE FUNCTION queen.keep_progress()
"""
STATES = """
    SELECT p.name, g.name, k FROM queen.kept_progress k JOIN queen.partitions p ON p.id = k.partition_id
    JOIN queen.groups g ON g.id = k.group_id ORDER BY k.n
"""


def check(addresses, seed, seconds, postgres=None):
    """Runs it; raises Violation, and tells where the trace is."""
    print(f"model: seed={seed}", flush=True)
    if postgres:
        postgres.psql(KEEP_STATES)
    driver = Driver(addresses, seed)
    try:
        driver.run(seconds)
    except Violation as violation:
        path = os.path.join(tempfile.gettempdir(), f"queen-model-{seed}.log")
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(driver.journal) + "\n")
            file.write(postgres.psql(STATES) if postgres else "")
        raise Violation(f"seed {seed}, all of it in {path}: {violation}") from None
    messages = sum(len(place.messages) for place in driver.model.partitions.values())
    print(f"model: steps={driver.steps} messages={messages} violations=0 seed={seed}", flush=True)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--url", action="append", default=[])
    parser.add_argument("--seed", type=int, default=new_seed())
    parser.add_argument("--brokers", type=int, default=1, help="to make when no URL is given")
    arguments = parser.parse_args()
    addresses = [(url.hostname, url.port) for url in map(urllib.parse.urlsplit, arguments.url)]
    made = []
    try:
        postgres = None
        if not addresses:
            postgres = Postgres()
            made.append(postgres)
            postgres.start()
            for _ in range(arguments.brokers):
                made.append(Broker("--num-workers", "2", env=postgres.env()))
                made[-1].start()
            addresses = [(broker.host, broker.port) for broker in made[1:]]
        check(addresses, arguments.seed, arguments.seconds, postgres)
        return 0
    except Violation as violation:
        print(f"model: {violation}")
        return 1
    finally:
        for thing in reversed(made):
            thing.close()


if __name__ == "__main__":
    sys.exit(main())
