"""What cannot be printed: a pop takes nothing then, and no command says that it succeeded."""

import subprocess

import pytest

from support.broker import base_environment, binary


def run_into_full(url, *words, stream="stdout"):
    """How a command ends, one of whose streams takes nothing."""
    with open("/dev/full", "wb") as full:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | {stream: full}
        return subprocess.run([binary(), *words], **streams, text=True, timeout=60, check=False,
                              env=base_environment() | {"QUEEN_URL": url})


@pytest.mark.parametrize("then", ["ack", "dlq", "keep"])
@pytest.mark.parametrize("form", ["table", "json"])
def test_a_pop_hands_back_what_it_cannot_print(cli, broker, form, then):
    queue = f"full-{form}-{then}"
    for n in (1, 2):
        cli("push", queue, n)
    ended = run_into_full(broker.url, "pop", queue, "-n", "2", "-o", form, "--then", then)
    assert ended.returncode == 1
    assert "back in its queue" in ended.stderr and "No space left on device" in ended.stderr
    assert [(m["data"], m["retryCount"]) for m in cli("pop", queue, "-n", 9, "-o", "json").lines()] == [(1, 0), (2, 0)]


def test_a_pop_whose_reader_is_gone_takes_nothing(cli, broker):
    cli("push", "unread", "1")
    pop = subprocess.Popen([binary(), "pop", "unread", "--wait", "30", "--partition", "later", "--url", broker.url],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=base_environment())
    pop.stdout.close()
    cli("push", "unread", "2", "--partition", "later")
    assert pop.wait(timeout=60) == 1
    assert "back in its queue" in pop.stderr.read()
    assert cli("pop", "unread", "--partition", "later", "-o", "json").lines()[0]["data"] == 2


@pytest.mark.parametrize("words", [("messages", "-o", "json"), ("queues",), ("push", "said", "1"), ("push", "--help"),
                                   ("completion", "bash")], ids=" ".join)
def test_a_command_whose_output_is_lost_fails(cli, broker, words):
    cli("push", "listed", "1")
    ended = run_into_full(broker.url, *words)
    assert (ended.returncode, ended.stderr) == (1, "queen: cannot write to standard output: No space left on device\n")


def test_errors_that_cannot_be_printed_change_nothing(broker):
    assert run_into_full(broker.url, "queue", "show", "nothing", stream="stderr").returncode == 4
