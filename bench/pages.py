#!/usr/bin/env python3
"""How long the pages of operators take with many partitions, over HTTP.

    bench/pages.py                               100,000 partitions in one queue, and 10,000 queues of 10
    bench/pages.py --partitions 10000            smaller
    bench/pages.py --only one                    the first of the two

Two groups, messages in every partition, one in ten partitions consumed by the first group, a dead letter in each, and two
hours in which two brokers served up to 200 queues every minute. Prints the median and the worst of --tries calls for each page, those above --limit ms marked.
"""
import argparse
import contextlib
import os
import statistics
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tests.support.broker import Broker  # noqa: E402
from tests.support.postgres import Postgres  # noqa: E402

PAGES = (
    "/api/v1/resources/overview",
    "/api/v1/resources/queues?limit=100",
    "/api/v1/resources/queues",
    "/api/v1/resources/queues/{queue}?limit=100",
    "/api/v1/resources/queues/{queue}?limit=1000",
    "/api/v1/resources/queues/{queue}/depth",
    "/api/v1/resources/namespaces",
    "/api/v1/resources/tasks",
    "/api/v1/resources/partitions?limit=100",
    "/api/v1/resources/partitions?limit=100&offset={deep}",
    "/api/v1/resources/partitions?limit=100&sort=lag",
    "/api/v1/resources/partitions?limit=100&sort=lag&offset={deep}",
    "/api/v1/resources/queues/{queue}/partitions/p1/explain?consumerGroup=g",
    "/api/v1/consumer-groups?limit=100",
    "/api/v1/consumer-groups",
    "/api/v1/consumer-groups/g?limit=100",
    "/api/v1/consumer-groups/g?limit=100&offset={deep}",
    "/api/v1/consumer-groups/lagging?minLagSeconds=0&limit=1000",
    "/api/v1/messages",
    "/api/v1/messages?queue={queue}",
    "/api/v1/messages?status=pending",
    "/api/v1/messages?status=completed",
    "/api/v1/messages?status=dead_letter",
    "/api/v1/messages?limit=1000&offset=3000",
    "/api/v1/dlq",
    "/api/v1/dlq?queue={queue}&consumerGroup=g",
    "/api/v1/dlq?offset={deep}",
    "/api/v1/status",
    "/api/v1/status/queues",
    "/api/v1/status/queues/{queue}?limit=100",
    "/api/v1/status/queues/{queue}/messages",
    "/api/v1/status/analytics",
    "/api/v1/status/buffers",
    "/api/v1/analytics/system-metrics",
    "/api/v1/analytics/worker-metrics",
    "/api/v1/analytics/queue-lag",
    "/api/v1/analytics/queue-ops",
    "/api/v1/analytics/queue-parked-replicas",
    "/api/v1/analytics/retention",
    "/api/v1/analytics/postgres-stats",
    "/api/v1/system/shared-state",
    "/metrics",
    "/metrics/prometheus",
)

FILL = """
INSERT INTO queen.queues (name, namespace, task)
SELECT 'q' || i, 'ns' || i % 50, 'task' || i % 20 FROM generate_series(1, {queues}) i;
INSERT INTO queen.partitions (queue_id, name)
SELECT q.id, 'p' || i FROM queen.queues q, generate_series(1, {each}) i;
INSERT INTO queen.groups (queue_id, name, start_mode) SELECT q.id, g, 'all' FROM queen.queues q, unnest('{{g,h}}'::text[]) g;
INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads)
SELECT p.id, s * 5, 5, now() - (60 - s * 10) * interval '1 second', E'{{"n":1}}\\n{{"n":2}}\\n{{"n":3}}\\n{{"n":4}}\\n{{"n":5}}'
FROM queen.partitions p, generate_series(0, 1) s;
INSERT INTO queen.progress (partition_id, group_id, epoch, cursor, changed_at)
SELECT p.id, g.id, 1, 10, now() FROM queen.partitions p JOIN queen.groups g ON g.queue_id = p.queue_id AND g.name = 'g'
WHERE p.id % 10 = 0;
INSERT INTO queen.dead_letters (partition_id, group_id, seq, created_at, txn, payload, error, retry_count, failed_at)
SELECT p.id, g.id, 3, now() - interval '1 minute', NULL, '{{"n":4}}', 'no', 3, now() - p.id * interval '1 millisecond'
FROM queen.partitions p JOIN queen.groups g ON g.queue_id = p.queue_id AND g.name = 'g';
INSERT INTO queen.queue_minutes (minute, queue, broker, flush, pushed, popped, pops, acked, age_count, age_sum_ms, age_max_ms)
SELECT date_trunc('minute', now()) - i * interval '1 minute', q.name, b, 1, 100, 100, 10, 100, 100, 1000, 50
FROM (SELECT name FROM queen.queues ORDER BY id LIMIT 200) q, generate_series(0, 119) i, generate_series(1, 2) b;
INSERT INTO queen.broker_minutes (minute, broker, flush, hostname, port, workers, looks, seen_at, pushed, popped, acked)
SELECT date_trunc('minute', now()) - i * interval '1 minute', b, 1, 'host' || b, 6632, 2, 6, now(), 20000, 20000, 20000
FROM generate_series(0, 119) i, generate_series(1, 2) b;
ANALYZE;
"""


def timed(broker, path, tries):
    """(median, worst) of so many calls, in ms, and the bytes of the reply."""
    times = []
    for _ in range(tries):
        began = time.monotonic()
        reply = broker.get(path, timeout=120)
        times.append((time.monotonic() - began) * 1000)
        assert reply.status == 200, (path, reply)
    return statistics.median(times), max(times), len(reply.body)


def measure(queues, each, options):
    """One database of so many queues with so many partitions."""
    with contextlib.ExitStack() as stack:
        postgres = stack.enter_context(contextlib.closing(Postgres()))
        postgres.start()
        env = postgres.env() | {"STATS_INTERVAL_MS": "3600000"}
        broker = stack.enter_context(contextlib.closing(Broker("--num-workers", "2", env=env))).start()
        postgres.psql(FILL.format(queues=queues, each=each))
        began = time.monotonic()
        assert broker.post("/api/v1/stats/refresh", timeout=600).status == 200
        print(f"\n{queues:,} queues of {each:,} partitions; a measurement of all numbers takes "
              f"{time.monotonic() - began:.1f} s\n\n{'page':<86}{'median':>8}{'worst':>8}{'kB':>8}", flush=True)
        slow = 0
        for page in PAGES:
            path = page.format(queue=urllib.parse.quote("q1"), deep=queues * each * 9 // 10)
            median, worst, size = timed(broker, path, options.tries)
            slow += median > options.limit
            print(f"{page:<86}{median:8.1f}{worst:8.1f}{size / 1000:8.1f}{'  above' if median > options.limit else ''}",
                  flush=True)
        return slow


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=100_000)
    parser.add_argument("--tries", type=int, default=5)
    parser.add_argument("--limit", type=float, default=200, help="ms")
    parser.add_argument("--only", choices=("one", "many"))
    options = parser.parse_args()
    slow = 0
    if options.only != "many":
        slow += measure(1, options.partitions, options)
    if options.only != "one":
        slow += measure(options.partitions // 10, 10, options)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
