#!/usr/bin/env python3
"""A long run with retention on: do tables, vacuum and latency stay as they are?

    bench/retention.py                     30 minutes, 10,000 messages a second kept for 120 s
    bench/retention.py --minutes 6 --rate 5000 --keep-seconds 30

Prints one row a minute, then the last third of the run over the third before it. The exit code is 1 when a
size or the p99 has grown beyond what is allowed, or a message was lost, doubled or reordered.
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

QUEUE = "retention"
TABLES = ["segments", "progress", "batches"]
GROWTH_MAX = 1.1      # of a size
LATENCY_MAX = 1.5     # of the p99, by its median over the minutes
SAMPLE = f"""
    SELECT json_object_agg(relname, json_build_object(
        'bytes', pg_total_relation_size(relid), 'live', n_live_tup, 'dead', n_dead_tup,
        'vacuums', autovacuum_count))
    FROM pg_stat_user_tables WHERE schemaname = 'queen' AND relname IN ({", ".join(f"'{t}'" for t in TABLES)})"""


def psql(broker, sql):
    return subprocess.run(["psql", "-XAtq", "-h", f"{broker.data_dir}/run", "-U", "queen", "-d", "queen", "-c", sql],
                          capture_output=True, text=True, check=True).stdout


def run(options):
    """The result of `queen bench soak` and a sample of the tables at the end of each of its minutes."""
    samples = []
    stop = threading.Event()
    with contextlib.closing(Broker(env={"RETENTION_INTERVAL": "5000"})) as broker:
        broker.start()
        configured = broker.post("/api/v1/configure", {"queue": QUEUE, "options": {
            "retentionEnabled": True, "retentionSeconds": options.keep_seconds,
            "completedRetentionSeconds": options.keep_seconds}})
        assert configured.status == 200, configured

        def sample():
            while not stop.wait(60):
                samples.append(json.loads(psql(broker, SAMPLE)))
                print(f"minute {len(samples)}: " + ", ".join(
                    f"{t} {samples[-1][t]['bytes'] / 1e6:.0f} MB" for t in TABLES), file=sys.stderr, flush=True)

        thread = threading.Thread(target=sample)
        thread.start()
        try:
            done = subprocess.run(
                [binary(), "bench", "soak", "--url", broker.url, "--queue", QUEUE, "--rate", str(options.rate),
                 "--seconds", str(options.minutes * 60), "--warmup", "0", "--interval", "60", "--json", "--quiet"],
                capture_output=True, text=True, check=False)
        finally:
            stop.set()
            thread.join()
    if not done.stdout.startswith("{"):
        sys.exit(f"queen bench: {done.stderr.strip()}")
    return json.loads(done.stdout), samples, done.returncode


def thirds(values):
    """The last third over the third before it, by their medians."""
    size = len(values) // 3
    return statistics.median(values[-size:]) / statistics.median(values[-2 * size:-size])


def main():
    parser = argparse.ArgumentParser(description="A long run with retention on.")
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--rate", type=int, default=10_000, help="messages a second")
    parser.add_argument("--keep-seconds", type=int, default=120, help="retentionSeconds of the queue")
    options = parser.parse_args()
    if options.minutes < 6:
        parser.error("--minutes: at least 6, to compare thirds")

    result, samples, code = run(options)
    minutes = min(len(samples), len(result["series"]))
    samples, series = samples[:minutes], result["series"][:minutes]
    print("| minute | msg/s | p50 ms | p99 ms | " + " | ".join(f"{t} MB | dead rows | vacuums" for t in TABLES) + " |")
    print("|" + "---|" * (4 + 3 * len(TABLES)))
    for minute, (sample, point) in enumerate(zip(samples, series), 1):
        cells = [minute, f"{point['received_per_second']:,.0f}", f"{point['delivery_us']['p50'] / 1000:.1f}",
                 f"{point['delivery_us']['p99'] / 1000:.1f}"]
        for table in TABLES:
            of = sample[table]
            cells += [f"{of['bytes'] / 1e6:.1f}", f"{of['dead']:,}", of["vacuums"]]
        print("| " + " | ".join(str(cell) for cell in cells) + " |")
    print()
    flat = code == 0
    for name, values, most in [(f"{t}: bytes", [s[t]["bytes"] for s in samples], GROWTH_MAX) for t in TABLES] + [
            ("delivery: p99", [p["delivery_us"]["p99"] for p in series], LATENCY_MAX)]:
        ratio = thirds(values)
        flat = flat and ratio <= most
        print(f"{name}, last third / the one before: {ratio:.2f} (at most {most})")
    check = result["check"]
    print(f"lost {check['lost']}, duplicated {check['duplicated']}, reordered {check['reordered']}")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
