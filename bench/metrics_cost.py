#!/usr/bin/env python3
"""What measuring costs: this build, scraped every second, beside another binary that is not, in turns.

    bench/metrics_cost.py --before ../before/build/queen             six rounds, about six minutes
    bench/metrics_cost.py --before ... --rounds 2 --seconds 3        a first look

Both brokers run all the time, each with a cluster of its own; only one is under load at a time, and who begins
changes from round to round. Prints for each load the medians of both, and the median over the rounds of the ratio
after : before, which a machine that is busy or warms up disturbs least. The exit code is 1 when, by the median
ratios, this build handles fewer messages per second by more than --limit percent AND takes more processor time
per message by more than that: on a machine that others use, either alone says little.
"""
import argparse
import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.support.broker import Broker, binary  # noqa: E402

# One item per request costs the most of measuring per message.
LOADS = {
    "push-100": "push --connections 32 --batch 100 --partitions 100 --no-verify --warmup 1 --seconds {seconds}",
    "push-1": "push --connections 64 --batch 1 --partitions 100 --no-verify --warmup 1 --seconds {seconds}",
    "drain": "drain --connections 16 --batch 100 --fill {fill}",
}


class Scraper:
    """GET /metrics/prometheus every second, until the `with` ends."""

    def __init__(self, broker):
        self._broker = broker
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self):
        while not self._over.wait(1.0):
            assert self._broker.get("/metrics/prometheus").status == 200

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def measure(broker, load, scraped):
    """(messages per second, broker's processor microseconds per message) of one run."""
    with Scraper(broker) if scraped else contextlib.nullcontext():
        done = subprocess.run([binary(), "bench", *shlex.split(load), "--url", broker.url, "--broker-pid",
                               str(broker.pid), "--json", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the run failed: {done.stdout}{done.stderr}")
    row = json.loads(done.stdout)["rows"][0]
    return row["messages_per_second"], row["spent"]["broker_cpu_seconds"] / row["messages"] * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", required=True, help="the other binary")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=8, help="of each run of pushes")
    parser.add_argument("--fill", type=int, default=300_000, help="messages of each run of drains")
    parser.add_argument("--limit", type=float, default=2.0, help="percent")
    parser.add_argument("--only", default="", help="loads, separated by commas: " + ", ".join(LOADS))
    options = parser.parse_args()
    loads = {name: load for name, load in LOADS.items() if not options.only or name in options.only.split(",")}

    failed = False
    with contextlib.ExitStack() as stack:
        brokers = {}
        for name, program in (("before", os.path.abspath(options.before)), ("after", binary())):
            brokers[name] = Broker("--num-workers", "2", program=program)
            stack.callback(brokers[name].close)
            brokers[name].start()
        print("| load | before msg/s | after msg/s | ratio | before us/msg | after us/msg | ratio |")
        print("|---|---|---|---|---|---|---|")
        for load, text in loads.items():
            runs = {"before": [], "after": []}
            for number in range(options.rounds):
                order = ("before", "after") if number % 2 == 0 else ("after", "before")
                for name in order:
                    arguments = text.format(seconds=options.seconds, fill=options.fill)
                    runs[name].append(measure(brokers[name], arguments, scraped=name == "after"))
            cells, ratios = [], []
            for place, digits in ((0, 0), (1, 3)):
                pairs = [(before[place], after[place]) for before, after in zip(runs["before"], runs["after"])]
                ratios.append(statistics.median(after / before for before, after in pairs))
                cells += [f"{statistics.median(values):.{digits}f}" for values in zip(*pairs)] + [f"{ratios[-1]:.3f}"]
            print(f"| {load} | " + " | ".join(cells) + " |", flush=True)
            allowed = options.limit / 100
            failed |= ratios[0] < 1 - allowed and ratios[1] > 1 + allowed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
