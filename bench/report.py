"""Results of a run of bench/run.py as a table for people and as charts."""
import plot
from scenarios import SCENARIOS, partitions_rows, row


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def markdown(about, results, judged):
    out = [f"# Measured {about['time']}, commit {about['commit']}", "",
           f"{about['processors']} x {about['processor']}, {about['memory_gib']} GiB, {about['system']}", "",
           "| target | wanted | measured | |", "|---|---|---|---|"]
    for target, value, met in judged:
        sign = "≥" if target.at_least else "≤"
        kind = " (ratio)" if target.ratio else ""
        out.append(f"| {target.text}{kind} | {sign} {number(target.limit)} | {number(value)} | {'yes' if met else '**no**'} |")
    out += ["", "| scenario | row | msg/s | p50 ms | p99 ms | p99.9 ms | broker s/M | PostgreSQL s/M | RSS MB | WAL B/msg |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    raw = results["raw"]
    for name in ("push", "drain"):
        out.append(f"| raw procedures | {name} | {number(raw[name]['messagesPerSecond'])} | | | | | | | |")
    for scenario in SCENARIOS:
        result = results.get(scenario.name)
        for one in result["rows"] if result else ():
            out.append(f"| {scenario.title} | {one['name'].strip()} | {line(one)} |")
    return "\n".join(out) + "\n"


def line(one):
    """One row of a result as cells."""
    spent = one.get("spent") or {}
    latency = one["latency_us"] or {}

    def cell(value, scale=1.0):
        return "" if value is None else number(value * scale)

    whole = not one["name"].startswith(" ")
    return " | ".join([
        cell(one["messages_per_second"]),
        *(cell(latency.get(p), 1e-3) for p in ("p50", "p99", "p999")),
        cell(spent.get("broker_cpu_seconds_per_million") if whole else None),
        cell(spent.get("postgres_cpu_seconds_per_million") if whole else None),
        cell(spent.get("broker_peak_rss_bytes") if whole else None, 1e-6),
        cell(spent.get("wal_bytes_per_message") if whole else None),
    ])


def charts(results):
    """{file name: SVG} of throughput and latency against load, partitions and time."""
    made = {}
    for name, label in (("load", "connections"), ("spread", "partitions")):
        points = {int(n): row(result) for n, result in (results.get(name) or {}).items() if result}
        if not points:
            continue
        made[f"push-{label}"] = plot.line_chart(
            f"Push throughput by {label} (batch 100)", label, "msg/s",
            {"broker": [(n, p["messages_per_second"]) for n, p in points.items()],
             "raw procedure": [(n, results["raw"]["push"]["messagesPerSecond"]) for n in points]}, log_x=True)
        made[f"push-latency-{label}"] = plot.line_chart(
            f"Push latency by {label} (batch 100)", label, "ms",
            {p: [(n, one["latency_us"][p] / 1000) for n, one in points.items()] for p in ("p50", "p99")}, log_x=True)
    if results.get("partitions"):
        rows = partitions_rows(results)
        made["partitions"] = plot.line_chart(
            "Wildcard pop + ack by number of partitions", "partitions", "ms",
            {p: [(int(r["name"].split()[0].replace(",", "")), r["latency_us"][p] / 1000) for r in rows]
             for p in ("p50", "p99")}, log_x=True)
    soak = results.get("old-transaction")
    if soak and soak["series"]:
        times = [(point["seconds"], point) for point in soak["series"]]
        made["old-transaction"] = plot.line_chart(
            "Throughput with one open transaction", "seconds", "msg/s",
            {"pushed": [(t, p["pushed_per_second"]) for t, p in times],
             "received": [(t, p["received_per_second"]) for t, p in times]})
        made["old-transaction-latency"] = plot.line_chart(
            "Delivery latency with one open transaction", "seconds", "ms",
            {p: [(t, point["delivery_us"][p] / 1000) for t, point in times] for p in ("p50", "p99")})
    return made
