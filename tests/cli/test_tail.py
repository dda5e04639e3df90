"""queen tail: what it prints, and what becomes of its group."""

import os
import pty
import signal
import subprocess

import pytest

from support.broker import base_environment, binary
from support.process import wait_until


def start_tail(url, *words):
    return subprocess.Popen([binary(), "tail", *words, "--url", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env=base_environment())


def tails(cli):
    return [group["name"] for group in cli("groups", "-o", "json").json() if group["name"].startswith("queen-tail-")]


def test_tail_follows_and_leaves_no_group(cli, broker):
    cli("push", "log", '"before"')
    tail = start_tail(broker.url, "log")
    assert tail.stderr.readline().startswith("Following log")
    cli("push", "log", '"after"', "--partition", "p")
    line = tail.stdout.readline().split()
    assert line[1:] == ["p@0", '"after"']
    tail.send_signal(signal.SIGINT)
    assert tail.wait(timeout=30) == 0
    assert cli("pop", "log", "-n", 5, "--partitions", 5, "-o", "json").lines()[0]["data"] == "before"  # not taken
    assert "log" in {group["queueName"] for group in cli("groups", "-o", "json").json()}
    assert not tails(cli)


def test_tail_ends_when_nobody_reads(cli, broker):
    """As in `queen tail log | head -1`; its group goes with it."""
    tail = start_tail(broker.url, "piped")
    assert tail.stderr.readline().startswith("Following")
    cli("push", "piped", "1")
    assert tail.stdout.readline() and tails(cli)
    tail.stdout.close()
    cli("push", "piped", "2")
    assert tail.wait(timeout=30) == 0
    assert not tails(cli)


def test_tail_from_the_beginning(cli):
    for n in range(3):
        cli("push", "old", str(n))
    assert [m["data"] for m in cli("tail", "old", "--all", "-n", 3, "-o", "json").lines()] == [0, 1, 2]


@pytest.mark.parametrize("sign", ["SIGHUP", "SIGQUIT", "SIGTERM"])
def test_a_signal_ends_it_with_its_group(cli, broker, sign):
    cli("push", "signalled", "1")
    tail = start_tail(broker.url, "signalled", "--all")
    assert tail.stdout.readline() and tails(cli)
    tail.send_signal(getattr(signal, sign))
    assert tail.wait(timeout=30) == 0
    assert not tails(cli)


def test_a_terminal_that_is_closed_ends_it_with_its_group(cli, broker):
    """Two SIGHUPs come, from the kernel and a shell, and what it says has nowhere to go."""
    cli("push", "closed", "1")
    ours, theirs = pty.openpty()
    tail = subprocess.Popen([binary(), "tail", "closed", "--all", "--url", broker.url], stdin=theirs, stdout=theirs,
                            stderr=theirs, env=base_environment(), start_new_session=True)
    os.close(theirs)
    assert b"closed" in os.read(ours, 100) or tails(cli)
    tail.send_signal(signal.SIGHUP)
    tail.send_signal(signal.SIGHUP)
    os.close(ours)
    tail.wait(timeout=30)
    assert not tails(cli)


def test_nohup_is_respected(cli, broker):
    cli("push", "nohup", "1")
    tail = subprocess.Popen(["nohup", binary(), "tail", "nohup", "--all", "--url", broker.url], text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env=base_environment())
    assert tail.stdout.readline()
    tail.send_signal(signal.SIGHUP)
    cli("push", "nohup", "2")
    assert tail.stdout.readline()
    tail.terminate()
    assert tail.wait(timeout=30) == 0


def test_a_group_that_cannot_be_removed_is_named(make_broker):
    broker = make_broker().start()
    broker.post("/api/v1/push", {"items": [{"queue": "it's away", "payload": 1}]})
    tail = start_tail(broker.url, "it's away", "--all")
    assert tail.stdout.readline()
    broker.kill9()
    tail.send_signal(signal.SIGINT)
    _, said = tail.communicate(timeout=60)
    assert tail.returncode == 3
    assert "queen group delete queen-tail-" in said and r"--queue 'it'\''s away' --yes" in said, said


def test_one_that_was_killed_does_not_fill_its_queue(cli, broker):
    """It cannot remove its group; maxSize does not wait for it."""
    broker.post("/api/v1/configure", {"queue": "limited", "options": {"maxSize": 3}})

    def is_queued():
        return broker.post("/api/v1/push", {"items": [{"queue": "limited", "payload": 1}]}).json()[0]["status"] == "queued"
    assert is_queued()
    tail = start_tail(broker.url, "limited", "--all")
    assert tail.stdout.readline()
    tail.kill()
    tail.wait(timeout=30)
    assert tails(cli)
    for _ in range(6):
        broker.get("/api/v1/pop/queue/limited?batch=10&autoAck=true&consumerGroup=worker")
        wait_until(is_queued, 20, "room in the queue")
    for group in tails(cli):
        cli("group", "delete", group, "--yes")
