#!/usr/bin/env python3
"""Measures the broker beside the raw procedures, all in one run on one database.

    bench/run.py            every scenario; writes bench/results/<time>-<commit>/ (about 20 minutes)
    bench/run.py --smoke    short versions, only the ratios decide (under 2 minutes), writes nothing
    bench/run.py --only push-100,drain

Starts a broker with a cluster of its own in a temporary directory (fsync on). The exit code is 1 when a
target is missed (with --smoke: a ratio), a message was lost, doubled or reordered, or a run failed.
"""
import argparse
import contextlib
import json
import os
import platform
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, ROOT)
sys.path.insert(0, HERE)

import scenarios  # noqa: E402
from report import charts, markdown  # noqa: E402
from tests.support.broker import Broker, binary  # noqa: E402


def machine():
    """What the numbers were measured on."""
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = next((line.split(":")[1].strip() for line in info if line.startswith("model name")), "unknown")
    with open("/proc/meminfo", encoding="utf-8") as info:
        memory = int(info.readline().split()[1]) // 1024 // 1024
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True,
                            check=False).stdout.strip()
    return {"processor": model, "processors": os.cpu_count(), "memory_gib": memory, "system": platform.platform(),
            "commit": commit or "unknown", "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


class Bench:
    def __init__(self, broker):
        self.broker = broker
        self.failed = False

    def queen(self, arguments):
        """One call of `queen bench`; its result, or None when it failed."""
        print(f"bench: {arguments}", file=sys.stderr, flush=True)
        done = subprocess.run([binary(), "bench", *shlex.split(arguments), "--url", self.broker.url, "--json",
                               "--quiet"], capture_output=True, text=True, check=False)
        result = json.loads(done.stdout) if done.stdout.startswith("{") else None
        if done.returncode != 0:
            self.failed = True
            said = result and {"check": result["check"], "errors": result["errors"]} or done.stderr.strip()
            print(f"bench: FAILED ({done.returncode}): {said}", file=sys.stderr, flush=True)
        return result

    def raw(self, messages):
        database = f"host={self.broker.data_dir}/run user=queen dbname=queen"
        done = subprocess.run([os.path.join(ROOT, "build", "bench", "raw_reference"), "--database", database,
                               "--messages", str(messages)], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


def measure(bench, smoke, only):
    """Every wanted scenario: {name: result}."""
    results = {}
    wanted = [s for s in scenarios.SCENARIOS if (s.smoke or not smoke) and (not only or s.name in only)]
    print("bench: the raw procedures", file=sys.stderr, flush=True)
    results["raw"] = bench.raw(300_000 if smoke else 2_000_000)
    for scenario in wanted:
        results[scenario.name] = bench.queen(scenario.smoke if smoke else scenario.full)
    if not smoke and not only:
        results["load"] = {n: bench.queen(scenarios.LOAD.format(n)) for n in scenarios.LOAD_CONNECTIONS}
        results["spread"] = {n: bench.queen(scenarios.SPREAD.format(n)) for n in scenarios.SPREAD_PARTITIONS}
    return results


def judge(results, smoke):
    """(target, value, met) for every target that was measured."""
    judged = []
    for target in scenarios.TARGETS:
        if not results.get(target.scenario) or smoke and not target.ratio:
            continue
        value = target.value(results)
        judged.append((target, value, target.met(value)))
    return judged


def main():
    parser = argparse.ArgumentParser(description="Measure the broker beside the raw procedures.")
    parser.add_argument("--smoke", action="store_true", help="short, only ratios decide, nothing is written")
    parser.add_argument("--only", default="", help="scenarios, separated by commas: "
                        + ", ".join(s.name for s in scenarios.SCENARIOS))
    parser.add_argument("--results", default=os.path.join(HERE, "results"), help="where to write")
    options = parser.parse_args()
    only = [name for name in options.only.split(",") if name]
    unknown = set(only) - {s.name for s in scenarios.SCENARIOS}
    if unknown:
        parser.error(f"--only: no such scenario: {', '.join(sorted(unknown))}")

    about = machine()
    with contextlib.closing(Broker()) as broker:
        broker.start()
        bench = Bench(broker)
        results = measure(bench, options.smoke, only)
    judged = judge(results, options.smoke)
    text = markdown(about, results, judged)
    print(text)
    if not options.smoke:
        directory = os.path.join(options.results, f"{about['time'].replace(':', '')}-{about['commit']}")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, "results.json"), "w", encoding="utf-8") as out:
            json.dump({"machine": about, "results": results}, out, indent=1)
        with open(os.path.join(directory, "results.md"), "w", encoding="utf-8") as out:
            out.write(text)
        for name, svg in charts(results).items():
            with open(os.path.join(directory, f"{name}.svg"), "w", encoding="utf-8") as out:
                out.write(svg)
        print(f"written to {os.path.relpath(directory)}", file=sys.stderr)
    return 0 if not bench.failed and all(met for _, _, met in judged) else 1


if __name__ == "__main__":
    sys.exit(main())
