"""`queen bench`: every scenario against the real broker, and its checker against one that lies."""

import json
import signal
import subprocess

import pytest

from support.broker import base_environment, binary
from support.fixtures import one_broker  # noqa: F401
from support.lying_broker import LyingBroker
from support.process import wait_until


def run_bench(*words, timeout=120):
    """(exit code, standard output, standard error)."""
    ended = subprocess.run([binary(), "bench", *map(str, words)], capture_output=True, text=True,
                           timeout=timeout, check=False, env=base_environment())
    return ended.returncode, ended.stdout, ended.stderr


def bench(url, scenario, *words, code=0):
    """The JSON report of a run that ends with `code`."""
    ended, out, err = run_bench(scenario, "--url", url, "--json", "--quiet", *words)
    assert ended == code, (ended, out, err)
    report = json.loads(out)
    assert report["ok"] == (code == 0)
    assert report["scenario"] == scenario
    return report


def row(report, name):
    """The row of that name."""
    return next(r for r in report["rows"] if r["name"].strip() == name)


def faults(report):
    """What the checker counted, without what it did not."""
    kinds = ("lost", "duplicated", "reordered", "unexpected")
    return {kind: report["check"][kind] for kind in kinds if report["check"][kind]}


@pytest.fixture(name="lying_broker")
def make_lying_broker(closing):
    """lying_broker(lie=..., refuse=...) -> LyingBroker."""
    return lambda **options: closing(LyingBroker(**options))


def assert_measured(spent):
    """Everything that can be known about a broker with its own cluster on this machine is."""
    assert all(value is not None for value in spent.values()), spent
    assert spent["broker_peak_rss_bytes"] > 1_000_000
    assert spent["wal_bytes"] > 0


def test_push(broker):
    report = bench(broker.url, "push", "--messages", 2000, "--connections", 4, "--batch", 50,
                   "--partitions", 7, "--payload", 300)
    pushed = row(report, "push")
    assert (pushed["messages"], pushed["requests"]) == (2000, 40)
    assert pushed["latency_us"]["count"] == 40
    assert 0 < pushed["latency_us"]["p50"] <= pushed["latency_us"]["max"]
    assert_measured(pushed["spent"])
    assert report["check"]["verified"] and report["check"]["received"] == 2000
    assert report["options"]["batch"] == 50


def test_push_for_a_time_without_transaction_ids_and_without_verifying(broker):
    report = bench(broker.url, "push", "--seconds", 1, "--warmup", 1, "--batch", 10,
                   "--partitions-per-push", 5, "--no-transaction-ids", "--no-verify")
    assert row(report, "push")["messages"] > 0
    assert not report["check"]["verified"] and report["check"]["received"] == 0


def test_the_queue_is_deleted_unless_it_is_to_be_kept(broker):
    bench(broker.url, "push", "--messages", 10, "--batch", 1, "--queue", "kept", "--keep-queue",
          "--no-verify", "--partitions", 1)
    bench(broker.url, "push", "--messages", 10, "--batch", 1, "--queue", "gone", "--no-verify",
          "--partitions", 1)
    assert broker.get("/api/v1/pop/queue/kept?batch=100").status == 200
    assert broker.get("/api/v1/pop/queue/gone?batch=100").status == 204


def test_what_was_in_the_queue_before_is_unexpected(broker):
    broker.post("/api/v1/push", {"items": [{"queue": "used", "payload": 1}]})
    report = bench(broker.url, "push", "--messages", 10, "--batch", 10, "--queue", "used", code=1)
    assert faults(report) == {"unexpected": 1}


def test_drain(broker):
    report = bench(broker.url, "drain", "--fill", 3000, "--batch", 40, "--connections", 5,
                   "--partitions", 9, "--partitions-per-pop", 2)
    assert row(report, "pop+ack")["messages"] == 3000
    assert row(report, "pop")["messages"] == row(report, "ack")["messages"] == 3000
    assert_measured(row(report, "pop+ack")["spent"])


def test_drain_by_several_groups(broker):
    report = bench(broker.url, "drain", "--fill", 1000, "--groups", 3, "--connections", 6)
    assert row(report, "pop+ack")["messages"] == 3000
    assert (report["check"]["pushed"], report["check"]["received"]) == (1000, 3000)


def test_push_and_drain_at_once(broker):
    report = bench(broker.url, "drain", "--fill", 100, "--with-push", "--seconds", 2,
                   "--producers", 2, "--push-batch", 10, "--connections", 4)
    assert row(report, "push")["messages"] > 0
    assert row(report, "pop+ack")["messages"] > 0
    assert_measured(row(report, "both")["spent"])
    assert report["check"]["pushed"] == report["check"]["received"]
    assert report["series"] and "backlog" in report["series"][0]


def test_e2e_at_a_rate(broker):
    report = bench(broker.url, "e2e", "--rate", 200, "--seconds", 2, "--warmup", 0)
    delivered = row(report, "end to end")
    assert delivered["latency_us"]["count"] == delivered["messages"] > 0
    # The pushes that were due do not depend on how fast the broker is.
    assert report["check"]["pushed"] >= 400


def test_e2e_idle(broker):
    report = bench(broker.url, "e2e", "--idle", "--messages", 5, "--pause-ms", 1)
    assert row(report, "end to end")["messages"] == 5
    assert row(report, "push")["requests"] == 5


def test_popwave(broker):
    report = bench(broker.url, "popwave", "--pops", 20, "--rounds", 3, "--batch", 2)
    assert row(report, "wave")["latency_us"]["count"] == 3
    assert row(report, "wave")["messages"] == 120
    assert row(report, "pop")["latency_us"]["count"] == 60


def test_partitions(broker):
    report = bench(broker.url, "partitions", "--counts", "10,1500", "--operations", 50,
                   "--connections", 4)
    for name in ("10 partitions", "1,500 partitions"):
        assert row(report, name)["messages"] >= 50
        assert_measured(row(report, name)["spent"])


def test_soak_with_an_old_transaction(broker):
    report = bench(broker.url, "soak", "--rate", 500, "--push-batch", 10, "--seconds", 3,
                   "--warmup", 0, "--interval", 1, "--hold-transaction")
    assert len(report["series"]) in (2, 3, 4)
    assert [point["seconds"] for point in report["series"]] == sorted(
        point["seconds"] for point in report["series"])
    assert row(report, "end to end")["messages"] > 0
    assert report["check"]["pushed"] == report["check"]["received"]


def test_a_table_for_people_and_progress_on_the_other_stream(broker):
    code, out, err = run_bench("popwave", "--url", broker.url, "--pops", 5, "--rounds", 1)
    assert code == 0, err
    assert out.startswith("popwave  msg/s  requests/s  p50 ms")
    assert "lost 0, duplicated 0, reordered 0, unexpected 0; errors 0" in out


def test_another_broker_with_the_same_api(lying_broker):
    honest = lying_broker()
    report = bench(honest.url, "drain", "--fill", 200, "--partitions", 3, "--push-batch", 10)
    assert report["check"]["received"] == 200
    spent = row(report, "pop+ack")["spent"]
    assert spent["broker_cpu_seconds"] is not None, "whoever listens is found"
    report = bench(honest.url, "popwave", "--pops", 5, "--rounds", 2)
    assert row(report, "wave")["messages"] == 10


@pytest.mark.parametrize("lies, expected", [
    ({5: "drop"}, {"lost": 1}),
    ({5: "drop", 99: "drop", 150: "drop"}, {"lost": 3}),
    ({5: "double", 42: "double"}, {"duplicated": 2}),
    ({5: "swap", 67: "swap"}, {"reordered": 2}),
    ({5: "foreign"}, {"unexpected": 1}),
    ({5: "drop", 17: "double", 38: "swap"}, {"lost": 1, "duplicated": 1, "reordered": 1}),
])
@pytest.mark.parametrize("scenario", ["push", "drain"])
def test_lies_are_found_and_counted(lying_broker, scenario, lies, expected):
    liar = lying_broker(lie=lies.get)
    words = {"push": ["--messages", 200, "--connections", 1, "--batch", 10],
             "drain": ["--fill", 200, "--producers", 1, "--push-batch", 10, "--batch", 7]}[scenario]
    report = bench(liar.url, scenario, "--partitions", 4, "--stall", 2, *words, code=1)
    assert faults(report) == expected
    assert report["errors"]["count"] == ("lost" in expected), "waiting in vain is the only error"


@pytest.mark.parametrize("connections", [1, 4])
def test_a_message_that_comes_back_after_the_drain_is_found(lying_broker, connections):
    liar = lying_broker(lie={19: "echo"}.get)
    report = bench(liar.url, "drain", "--fill", 20, "--producers", 1, "--push-batch", 1,
                   "--batch", 1, "--partitions", 1, "--connections", connections, code=1)
    assert faults(report) == {"duplicated": 1}


def test_a_swap_in_a_wave_is_found(lying_broker):
    # Two messages for each of 5 partitions: the second of partition 0 is number 5.
    liar = lying_broker(lie={5: "swap"}.get)
    report = bench(liar.url, "popwave", "--pops", 5, "--rounds", 2, code=1)
    assert faults(report) == {"reordered": 1}
    assert report["check"]["received"] == 10


@pytest.mark.parametrize("status, text", [(500, "push: 500"), (201, "push: 10 items are answered")])
def test_a_failed_push_is_an_error_and_tried_again(lying_broker, status, text):
    pushes = []

    def refuse(method, path):
        if path == "/api/v1/push":
            pushes.append(method)
        return (status, []) if path == "/api/v1/push" and len(pushes) == 2 else None

    report = bench(lying_broker(refuse=refuse).url, "push", "--messages", 100, "--connections", 1,
                   "--batch", 10, code=1)
    assert report["errors"]["count"] == 1
    assert report["errors"]["kinds"][0]["text"].startswith(text)
    assert report["check"]["received"] == 100 and faults(report) == {}
    assert len(pushes) == 11


def test_a_refused_ack_is_an_error(lying_broker):
    refused = []

    def refuse(_, path):
        if path != "/api/v1/ack/batch" or refused:
            return None
        refused.append(path)
        return 200, [{"success": False, "error": "Invalid or expired lease"}]

    report = bench(lying_broker(refuse=refuse).url, "drain", "--fill", 20, "--producers", 1,
                   "--push-batch", 1, "--batch", 1, "--partitions", 20, "--stall", 2, code=1)
    assert report["errors"]["kinds"][0] == {"text": "ack: Invalid or expired lease", "count": 1}


def test_an_interrupted_run_still_reports(broker):
    process = subprocess.Popen([binary(), "bench", "soak", "--url", broker.url, "--seconds", "600",
                                "--rate", "100", "--push-batch", "1", "--warmup", "0", "--json",
                                "--queue", "interrupted"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               env=base_environment())
    wait_until(lambda: broker.get("/api/v1/pop/queue/interrupted?consumerGroup=x").status == 200,
               what="the first message")
    process.send_signal(signal.SIGINT)
    report = json.loads(process.communicate(timeout=60)[0])
    assert process.returncode == 1
    assert report["errors"]["kinds"] == [{"text": "interrupted", "count": 1}]
    assert row(report, "end to end")["messages"] >= 0
    assert report["check"]["pushed"] == report["check"]["received"] > 0
    assert broker.get("/api/v1/pop/queue/interrupted?consumerGroup=y").status == 204, "deleted"


def test_nobody_listens():
    code, out, err = run_bench("push", "--url", "http://127.0.0.1:1")
    assert (code, out) == (1, "")
    assert err == "queen bench: http://127.0.0.1:1: connection refused\n"


@pytest.mark.parametrize("words, text", [
    (["push", "--batch", "x"], "--batch must be a whole number from 1 to 10000"),
    (["push", "--url", "ftp://h"], "--url: \"ftp://h\" is no http URL"),
    (["nothing"], "unknown scenario nothing"),
])
def test_a_bad_command_line(words, text):
    code, out, err = run_bench(*words)
    assert (code, out) == (2, "")
    assert text in err


def test_a_bad_database_or_process_is_named(broker):
    code, _, err = run_bench("push", "--url", broker.url, "--broker-pid", 2**31 - 1)
    assert code == 2 and "--broker-pid" in err
    code, _, err = run_bench("push", "--url", broker.url, "--database", "host=/nowhere")
    assert code == 2 and "--database" in err


def test_a_transaction_cannot_be_held_in_an_unknown_database(lying_broker):
    code, _, err = run_bench("soak", "--url", lying_broker().url, "--hold-transaction")
    assert code == 2 and "--hold-transaction" in err
