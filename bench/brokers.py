#!/usr/bin/env python3
"""What a message costs with 1, 2 and 3 brokers on one database.

    bench/brokers.py                       10,000 messages a second for 20 s, three rounds
    bench/brokers.py --rate 5000 --seconds 10 --rounds 1

`queen bench soak` pushes and consumes one queue through a balancer that gives each connection to the next
broker, so that producers and consumers of a partition are on different brokers. Prints processor seconds per
million messages of all brokers and of PostgreSQL, and what they are of the cost with one broker. Exits with 1
if PostgreSQL and the brokers together cost more than 10 % more with two brokers than with one.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from cluster import Balancer, processor_seconds, start_brokers  # noqa: E402
from tests.support.broker import binary  # noqa: E402
from tests.support.postgres import Postgres  # noqa: E402

GROWTH_MAX = 1.1
CALLS = """
    SELECT rpad(funcname, 30), round(calls / {0}::numeric, 2), round(total_time::numeric / {0}, 2)
    FROM pg_stat_user_functions WHERE schemaname = 'queen' ORDER BY total_time DESC LIMIT 14"""


def measure(options, count):
    """(brokers' s/M, PostgreSQL's s/M, p50 ms, p99 ms)."""
    with contextlib.ExitStack() as stack:
        settings = {"fsync": "on"} | ({"track_functions": "all"} if options.calls else {})
        postgres = stack.enter_context(contextlib.closing(Postgres(settings)))
        postgres.start()
        brokers = start_brokers(stack, postgres, count, told=not options.untold)
        balancer = stack.enter_context(contextlib.closing(Balancer((b.host, b.port) for b in brokers)))
        before = processor_seconds(*(b.pid for b in brokers)), processor_seconds(postgres.pid)
        done = subprocess.run(
            [binary(), "bench", "soak", "--url", f"http://127.0.0.1:{balancer.port}", "--rate", str(options.rate),
             "--seconds", str(options.seconds), "--warmup", "0", "--push-batch", str(options.push_batch),
             "--pop-batch", str(options.pop_batch), "--partitions", str(options.partitions), "--json", "--quiet"],
            capture_output=True, text=True, check=False)
        after = processor_seconds(*(b.pid for b in brokers)), processor_seconds(postgres.pid)
        report = json.loads(done.stdout) if done.stdout.startswith("{") else sys.exit(done.stderr)
        if not report["ok"]:
            sys.exit(f"queen bench: {report['check']} {report['errors']}")
        row = next(row for row in report["rows"] if row["name"] == "end to end")
        millions = report["check"]["pushed"] / 1e6
        if options.calls:
            print(f"{count} brokers, calls and ms per thousand messages:\n" + postgres.psql(CALLS.format(millions * 1e3)))
        return ((after[0] - before[0]) / millions, (after[1] - before[1]) / millions,
                row["latency_us"]["p50"] / 1e3, row["latency_us"]["p99"] / 1e3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--push-batch", type=int, default=100)
    parser.add_argument("--pop-batch", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--untold", action="store_true", help="the brokers do not tell each other anything")
    parser.add_argument("--calls", action="store_true", help="print how often procedures were called")
    options = parser.parse_args()
    results = {count: [] for count in range(1, options.brokers + 1)}
    for _ in range(options.rounds):
        for count, rows in results.items():
            rows.append(measure(options, count))
    medians = {count: [statistics.median(column) for column in zip(*rows)] for count, rows in results.items()}
    print("| brokers | brokers s/M | PostgreSQL s/M | together | of one broker | p50 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    one = sum(medians[1][:2])
    for count, (broker, postgres, p50, p99) in medians.items():
        print(f"| {count} | {broker:.1f} | {postgres:.1f} | {broker + postgres:.1f} | {(broker + postgres) / one:.2f} "
              f"| {p50:.1f} | {p99:.1f} |")
    return 1 if 2 in medians and sum(medians[2][:2]) > GROWTH_MAX * one else 0


if __name__ == "__main__":
    sys.exit(main())
