#!/usr/bin/env python3
"""What LISTEN/NOTIFY would cost PostgreSQL as a second way to tell the other brokers of a push.

    bench/notify.py                        20,000 messages a second for 15 s, then as fast as it goes
    bench/notify.py --rate 5000 --seconds 5

Runs one broker on a cluster of its own, with fsync, as it is and with a pg_notify in push_messages that two
idle sessions listen to (as two brokers would), in turns. Prints processor seconds of PostgreSQL per million
messages at a fixed rate, and how many pushes of one message pass in a second.
"""
import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from tests.support.broker import Broker, binary  # noqa: E402
from tests.support.postgres import Postgres  # noqa: E402

CHANGE = """
DO $$ DECLARE v_text text := pg_get_functiondef('queen.push_messages'::regproc); BEGIN
    EXECUTE regexp_replace(v_text, '\\nBEGIN\\n', E'\\nBEGIN\\n    PERFORM pg_notify(''queen'', array_to_string(p_partitions[1:100], '',''));\\n');
END $$"""


class Listener:
    """A session that listens, and takes what it is sent."""

    def __init__(self, postgres):
        self._process = subprocess.Popen(
            ["psql", "-XAtq", "-h", postgres.directory, "-p", str(postgres.port), "-U", "queen", "-d", "queen"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._over = threading.Event()
        self.heard = 0
        self._threads = [threading.Thread(target=self._ask), threading.Thread(target=self._count)]
        for thread in self._threads:
            thread.start()

    def _ask(self):
        self._process.stdin.write("LISTEN queen;\n")
        while not self._over.wait(0.1):
            self._process.stdin.write(";\n")
            self._process.stdin.flush()
        self._process.stdin.close()

    def _count(self):
        for line in self._process.stdout:
            self.heard += line.startswith("Asynchronous notification")

    def close(self):
        self._over.set()
        self._process.wait(timeout=30)
        for thread in self._threads:
            thread.join()


def bench(broker, postgres, *words):
    done = subprocess.run([binary(), "bench", *words, "--url", broker.url, "--json", "--quiet", "--warmup", "1",
                           "--broker-pid", str(broker.pid), "--postgres-pid", str(postgres.pid)],
                          capture_output=True, text=True, check=False)
    if not done.stdout.startswith("{"):
        sys.exit(f"queen bench: {done.stderr.strip()}")
    return {row["name"]: row for row in json.loads(done.stdout)["rows"]}


def measure(options, notify):
    """(row of the fixed rate, row of single pushes, notifications heard)."""
    with contextlib.ExitStack() as stack:
        postgres = stack.enter_context(contextlib.closing(Postgres({"fsync": "on"})))
        postgres.start()
        broker = stack.enter_context(contextlib.closing(Broker("--num-workers", "2", env=postgres.env())))
        broker.start()
        if notify:
            postgres.psql(CHANGE)
        listeners = [stack.enter_context(contextlib.closing(Listener(postgres))) for _ in range(2 if notify else 0)]
        steady = bench(broker, postgres, "soak", "--rate", str(options.rate), "--seconds", str(options.seconds))
        fast = bench(broker, postgres, "push", "--batch", "1", "--connections", "64", "--seconds", str(options.seconds),
                     "--no-verify")
        return steady["end to end"], fast["push"], sum(listener.heard for listener in listeners)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=20_000)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--raw", action="store_true", help="print what queen bench said")
    options = parser.parse_args()
    results = {False: [], True: []}
    for _ in range(options.rounds):
        for notify in (False, True):
            results[notify].append(measure(options, notify))
            if options.raw:
                print(json.dumps(results[notify][-1]), flush=True)
    print("| | PostgreSQL s/M at the rate | p50 ms | p99 ms | pushes of one message / s | of it s/M | heard |")
    print("|---|---|---|---|---|---|---|")
    for notify, name in ((False, "as it is"), (True, "with NOTIFY")):
        cells = []
        for pick in (lambda steady, fast, heard: steady["spent"]["postgres_cpu_seconds_per_million"],
                     lambda steady, fast, heard: steady["latency_us"]["p50"] / 1e3,
                     lambda steady, fast, heard: steady["latency_us"]["p99"] / 1e3,
                     lambda steady, fast, heard: fast["messages_per_second"],
                     lambda steady, fast, heard: fast["spent"]["postgres_cpu_seconds_per_million"],
                     lambda steady, fast, heard: heard):
            cells.append(statistics.median(pick(*row) for row in results[notify]))
        print(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
