"""Queues, groups, seek, dead letters, messages and traces: as tables, as JSON, and their exit codes."""

import os
import re

import pytest

from support.broker import REPOSITORY
from support.cli import run_cli
from support.process import free_port, wait_until


@pytest.fixture(scope="module", name="filled")
def fill(broker):
    """A queue "orders" with three messages in two partitions, one of them a dead letter."""
    broker.post("/api/v1/configure", {"queue": "orders", "options": {"leaseTime": 60, "retryLimit": 0}})
    items = [{"queue": "orders", "partition": p, "payload": n, "transactionId": f"t{n}"}
             for n, p in enumerate(["a", "a", "b"])]
    assert broker.post("/api/v1/push", {"items": items}).status == 201
    popped = broker.get("/api/v1/pop/queue/orders/partition/b?consumerGroup=workers").json()["messages"][0]
    ack = {key: popped[key] for key in ("transactionId", "partitionId", "leaseId", "consumerGroup")}
    assert broker.post("/api/v1/ack", ack | {"status": "failed", "error": "a \033[31mbug"}).json()[0]["dlq"]
    broker.post("/api/v1/stats/refresh")
    return popped


def test_queues(cli, filled):
    assert [row[:1] for row in cli("queues").rows() if row[0] == "orders"] == [["orders"]]
    queue, = [q for q in cli("queues", "-o", "json").json()["queues"] if q["name"] == "orders"]
    assert queue["partitions"] >= 2


def test_numbers_measured_now(cli):
    """What was pushed and popped a moment ago is in the lists that measure anew."""
    cli("push", "fresh", "1")
    assert "fresh" in [row[0] for row in cli("queues", "--refresh").rows()]
    queue, = [q for q in cli("queues", "--refresh", "-o", "json").json()["queues"] if q["name"] == "fresh"]
    assert (queue["partitions"], queue["messages"]) == (1, {"total": 1, "pending": 1, "processing": 0})
    cli("pop", "fresh", "--group", "readers", "--then", "keep")
    group, = [g for g in cli("groups", "--refresh", "-o", "json").json() if g["queueName"] == "fresh"]
    assert (group["name"], group["totalLag"], group["members"]) == ("readers", 1, 1)


def test_queue_show(cli, filled):
    out = cli("queue", "show", "orders").out
    assert out.splitlines()[0].split() == ["Queue", "orders"]
    assert {"a", "b"} <= {line.split()[0] for line in out.splitlines() if line}
    assert cli("queue", "show", "orders", "-o", "json").json()["options"]["leaseTime"] == 60
    assert "queen: " in cli("queue", "show", "nothing", code=4).err


def test_queue_configure(cli):
    reply = cli("queue", "configure", "made", "leaseTime=30", "encryptionEnabled=false", "--namespace", "ns", "-o", "json").json()
    assert (reply["options"]["leaseTime"], reply["namespace"]) == (30, "ns")
    out = cli("queue", "configure", "made", "retryLimit=7").out
    assert ["leaseTime", "30"] in [line.split() for line in out.splitlines()]
    assert ["retryLimit", "7"] in [line.split() for line in out.splitlines()]
    out = cli("queue", "configure", "made", "--replace").out
    assert ["leaseTime", "300"] in [line.split() for line in out.splitlines()]
    assert "leaseTime" in cli("queue", "configure", "made", "leaseTime=soon", code=1).err  # the broker's own words
    assert "is not OPTION=VALUE" in cli("queue", "configure", "made", "leaseTime", code=2).err


def test_queue_delete(cli):
    cli("push", "gone", "1")
    assert "add --yes" in cli("queue", "delete", "gone", code=1).err
    assert cli("queue", "delete", "gone", "--yes").out.startswith("Deleted the queue gone")
    cli("queue", "delete", "gone", "--yes", code=4)
    cli("pop", "gone", code=4)


def test_queue_clear(cli):
    for n in range(3):
        cli("push", "cleared", n)
    assert cli("queue", "clear", "cleared", "-y", "-o", "json").json()["count"] == 3
    cli("pop", "cleared", code=4)


def test_groups(cli, filled):
    rows = [row for row in cli("groups", "orders").rows() if row[0] == "workers"]
    assert [row[1] for row in rows] == ["orders"]
    group, = [g for g in cli("groups", "-o", "json").json() if g["name"] == "workers"]
    assert group["queueName"] == "orders"


def test_lists_as_json_are_what_was_asked_for(cli):
    for queue in ("left", "right"):
        cli("queue", "configure", queue, "--namespace", f"ns-{queue}", "--task", f"task-{queue}")
        cli("push", queue, "1")
        cli("pop", queue, "-g", "both", *(("--then", "return") if queue == "right" else ()))
    assert {g["queueName"] for g in cli("groups", "left", "--refresh", "-o", "json").json()} == {"left"}
    lagging = {(g["name"], g["queueName"]) for g in cli("groups", "--lagging", "-o", "json").json()}
    assert ("both", "right") in lagging and ("both", "left") not in lagging
    for option in ("--namespace=ns-left", "--task=task-left"):
        listed = cli("queues", option, "-o", "json").json()
        assert [q["name"] for q in listed["queues"]] == ["left"] and "statsAge" in listed
    # the page is one of that namespace, not what it has of the first page of all
    assert [q["name"] for q in cli("queues", "--namespace=ns-right", "--limit=1", "-o", "json").json()["queues"]] == ["right"]
    consumed, = [g["lastConsumedAt"] for g in cli("groups", "left", "-o", "json").json() if g["name"] == "both"]
    shown = cli("groups", "left").out
    assert "LAST CONSUMED" in shown and consumed[:19].replace("T", " ") in shown


def test_group_show_and_delete(cli):
    cli("push", "watched", "1")
    cli("pop", "watched", "-g", "watchers")
    row, = cli("group", "show", "watchers").rows()
    assert row[:3] == ["watched", "Default", "0"]
    assert cli("group", "delete", "watchers", "--queue", "watched", "-y", "-o", "json").json()["success"]
    cli("pop", "watched", "-g", "watchers")  # from the start again
    cli("group", "show", "nobody", code=4)


def test_seek(cli):
    for n in range(3):
        cli("push", "sought", n)
    assert cli("pop", "sought", "-n", 3, "-g", "g", "-o", "json").lines()[-1]["data"] == 2
    assert cli("seek", "g", "sought", "--offset", 1).out == "Moved g in sought: 1 partition.\n"
    assert cli("pop", "sought", "-n", 3, "-g", "g", "-o", "json").lines()[0]["data"] == 1
    cli("seek", "g", "sought", "--time", "2020-01-01T00:00:00Z", "--partition", "Default")
    assert cli("pop", "sought", "-n", 3, "-g", "g", "-o", "json").lines()[0]["data"] == 0
    assert cli("seek", "g", "sought", "--to-end", "-o", "json").json()["seekToEnd"] is True
    cli("pop", "sought", "-g", "g", code=4)
    cli("seek", "g", "sought", code=2)
    cli("seek", "g", "sought", "--to-end", "--offset", 1, code=2)


def test_dlq_list(cli, filled):
    row, = cli("dlq", "list", "--queue", "orders").rows()
    assert row[1:5] == ["orders", "b", "workers", "0"] or row[1:4] == ["orders", "b", "workers"]
    assert filled["partitionId"] in row  # which `message retry` asks for
    assert row[-1] == "a ?[31mbug"  # what a message says does not reach the terminal
    assert cli("dlq", "list", "--queue", "orders", "-o", "json").json()["total"] == 1
    assert cli("dlq", "list", "--queue", "orders", "--group", "others").out == "There are no dead letters.\n"


def kill(broker, queue, count):
    """`count` dead letters in `queue`."""
    broker.post("/api/v1/configure", {"queue": queue, "options": {"retryLimit": 0}})
    items = [{"queue": queue, "payload": n} for n in range(count)]
    assert broker.post("/api/v1/push", {"items": items}).status == 201
    messages = broker.get(f"/api/v1/pop/queue/{queue}?batch={count}").json()["messages"]
    acks = [{"transactionId": m["transactionId"], "partitionId": m["partitionId"], "leaseId": m["leaseId"], "status": "dlq"}
            for m in messages]
    assert all(ack["dlq"] for ack in broker.post("/api/v1/ack/batch", {"acknowledgments": acks}).json())


def test_dlq_redrive_in_steps(cli, broker):
    kill(broker, "redriven", 2500)
    assert "add --yes" in cli("dlq", "redrive", "--queue", "redriven", code=1).err
    assert cli("dlq", "redrive", "--queue", "redriven", "-y", "-n", 100).out == "Redriven: 100 dead letters.\n"
    assert cli("dlq", "redrive", "--queue", "redriven", "-y", "-o", "json").json()["redriven"] == 2400
    assert sorted(m["data"] for m in cli("pop", "redriven", "-n", 9000, "-o", "json").lines()) == list(range(2500))
    assert cli("dlq", "redrive", "--queue", "redriven").out == "Redriven: 0 dead letters.\n"


def test_dlq_purge(cli, broker):
    kill(broker, "purged", 1200)
    assert cli("dlq", "purge", "--queue", "purged", "-y").out == "Purged: 1,200 dead letters.\n"
    assert cli("dlq", "list", "--queue", "purged", "-o", "json").json()["total"] == 0


def test_messages(cli, filled):
    rows = cli("messages", "orders").rows()
    assert sorted(row[-1] for row in rows) == ["t0", "t1", "t2"]
    listed = cli("messages", "orders", "--status", "dead_letter", "-o", "json").json()["messages"]
    assert [m["transactionId"] for m in listed] == ["t2"]
    assert "is not known; allowed" in cli("messages", "--status", "lost", code=2).err


def test_one_message(cli, filled):
    place = filled["partitionId"], filled["transactionId"]
    out = cli("message", "show", *place).out
    assert ["Transaction", "t2"] in [line.split() for line in out.splitlines()]
    assert ["Payload", "2"] in [line.split() for line in out.splitlines()]
    cli("message", "show", place[0], "no-such", code=4)


def test_retry_and_delete_a_message(cli, broker):
    kill(broker, "single", 1)
    letter, = broker.get("/api/v1/dlq?queue=single").json()["messages"]
    cli("message", "retry", letter["partitionId"], letter["transactionId"])
    assert broker.get("/api/v1/dlq?queue=single").json()["total"] == 0
    message = cli("pop", "single", "--then", "return", "-o", "json").lines()[0]
    cli("message", "dead-letter", message["partitionId"], message["transactionId"])
    assert broker.get("/api/v1/dlq?queue=single").json()["total"] == 1
    cli("message", "delete", message["partitionId"], message["transactionId"], "-y")
    assert broker.get("/api/v1/dlq?queue=single").json()["total"] == 0
    cli("pop", "single", code=4)


def test_traces(cli, filled):
    place = filled["partitionId"], filled["transactionId"]
    cli("trace", "add", *place, '{"step": 1}', "--event", "step", "--name", "order-7")
    cli("trace", "add", *place, "a plain text")
    rows = cli("trace", "show", *place).rows()
    assert [(row[1], row[-1]) for row in rows] == [("step", '{"step": 1}'), ("info", '"a plain text"')]
    assert cli("trace", "name", "order-7", "-o", "json").json()["total"] == 1
    assert [row[0] for row in cli("trace", "names").rows()] == ["order-7"]


def test_explain(cli, filled):
    out = cli("explain", "orders", "a", "--group", "workers").out
    assert "orders" in out
    assert cli("explain", "orders", "a", "--group", "workers", "-o", "json").json()
    cli("explain", "nothing", "a", code=4)


def test_top_without_a_terminal(cli, filled):
    out = cli("top", "--count", 1, "--interval", 1).out.splitlines()
    assert out[0].startswith("queen top http://")
    assert "orders" in [line.split()[0] for line in out[2:] if line]

    def depth():
        rows = cli("top", "-n", 1, "-i", 0, "-o", "json").json()["queues"]
        return [row["depth"] for row in rows if row["queue"] == "orders"][0]
    wait_until(lambda: depth() >= 2, what="the depth to be measured")


def test_doctor(cli, broker):
    report = cli_any(broker, "doctor", "-o", "json")
    levels = {(f["check"], f["level"]) for f in report["findings"]}
    assert ("broker", "ok") in levels and ("version", "ok") in levels and ("clock", "ok") in levels
    assert ("disk", "ok") in levels or ("disk", "bad") in levels
    assert not [f for f in report["findings"] if f["level"] == "not checked"]
    broker.post("/api/v1/system/maintenance/pop", {"enabled": True})
    try:
        ended = cli("doctor", code=1)
        assert "pop maintenance is on" in ended.out and "-> POST /api/v1/system/maintenance/pop" in ended.out
    finally:
        broker.post("/api/v1/system/maintenance/pop", {"enabled": False})


def cli_any(broker, *words):
    """The JSON of a command that may end with 0 or 1."""
    ended = run_cli(*words, url=broker.url)
    assert ended.code in (0, 1), ended
    return ended.json()


def test_no_broker(cli):
    ended = run_cli("queues", url=f"http://127.0.0.1:{free_port()}")
    assert ended.code == 3
    assert "no broker answers" in ended.err and "queen serve" in ended.err
    assert run_cli("pop", "q", "--url", "nonsense").code == 2
    second = run_cli("push", "failover", "1", url=f"http://127.0.0.1:{free_port()},{cli.url}")
    assert second.code == 0, second


def test_the_token_is_no_flag(cli, directory):
    assert "unknown flag --token" in run_cli("queues", "--token=s3cret").err
    missing = run_cli("queues", "--token-file", f"{directory}/none", url=cli.url)
    assert missing.code == 2 and "cannot read a token" in missing.err


def test_wrong_command_lines(cli):
    assert cli("queue", code=2).err == "queen: queen queue needs a command\nTry `queen queue --help`.\n"
    assert "did you mean --partition?" in cli("pop", "q", "--partitio", "x", code=2).err
    assert "unknown command topp; did you mean top?" in cli("topp", code=2).err


def test_help_names_every_command_and_the_exit_codes(cli):
    general = cli("help").out
    for name in ("push", "pop", "tail", "queues", "queue", "groups", "seek", "dlq", "messages", "trace", "top", "doctor",
                 "explain", "completion"):
        assert f"\n  {name} " in general
        text = cli(name, "--help").out
        assert text.startswith(f"Usage: queen {name}") and "\n  3    no broker answered" in text
        assert max(map(len, text.splitlines())) <= 100, text
    assert cli("help", "push").out == cli("push", "--help").out


def test_the_page_names_every_command_and_exit_code(cli):
    with open(os.path.join(REPOSITORY, "docs", "cli.md"), encoding="utf-8") as file:
        page = file.read()
    assert re.findall(r"^\| (\d+) \| (.+) \|$", page, re.MULTILINE) == \
        re.findall(r"^  (\d+) +(.+)$", cli("push", "--help").out.partition("Exit codes:")[2], re.MULTILINE)
    operators = cli("help").out.partition("For operators")[2]
    for name in re.findall(r"^  ([a-z]+) ", operators, re.MULTILINE):
        assert f"`queen {name}" in page or f"queen {name} " in page, name
        for below in re.findall(r"^  ([a-z-]+) ", cli(name, "--help").out.partition("Commands:")[2].partition("Options:")[0],
                                re.MULTILINE):
            assert re.search(rf"queen {name} {below}\b|queen {name} [^\n]*`{below}`", page), f"{name} {below}"
