"""Names that are unusual: dots, bytes that are not UTF-8, and what a shell would run."""

import os
import subprocess

import pytest

from support.broker import base_environment, binary


def run_bytes(url, *words, stdin=b""):
    """How a command ends whose words need not be UTF-8."""
    return subprocess.run([binary(), *words], input=stdin, capture_output=True, timeout=60, check=False,
                          env=base_environment() | {"QUEEN_URL": url})


@pytest.mark.parametrize("name", [".", "..", "a/../b"])
def test_dots_are_names_like_others(cli, name):
    cli("push", name, "1", "--partition", name)
    cli("queue", "show", name)
    assert cli("pop", name, "--partition", name, "-o", "json").lines()[0]["partition"] == name


def test_a_seek_of_the_partition_dot_dot_moves_no_other(cli):
    for partition in ("a", ".."):
        cli("push", "dots", "1", "--partition", partition)
    cli("pop", "dots", "-g", "g", "--then", "return")
    assert cli("seek", "g", "dots", "--partition", "..", "--to-end", "-o", "json").json()["partitionsUpdated"] == 1
    assert [m["partition"] for m in cli("pop", "dots", "-g", "g", "-n", 9, "--partitions", 9, "-o", "json").lines()] == ["a"]


@pytest.mark.parametrize("words", [("push", "latin", "--text", b"caf\xe9"), ("push", b"caf\xe9", "1"),
                                   ("pop", b"caf\xe9"), ("push", "latin", "1", "--header", b"k=caf\xe9")])
def test_arguments_are_utf8(cli, words):
    ended = run_bytes(cli.url, *words)
    assert ended.returncode == 2 and b"not UTF-8: " in ended.stderr, ended
    cli("queue", "show", "latin", code=4)


@pytest.mark.parametrize("options, line", [(("--text",), b"caf\xe9"), ((), b'"caf\xe9"'),
                                           (("--envelopes",), b'{"payload": 1, "partition": "caf\xe9"}')])
def test_lines_are_utf8(cli, options, line):
    ended = run_bytes(cli.url, "push", "lines", *options, stdin=b"1\n" * (not options) + line + b"\n")
    assert ended.returncode == 1 and b"UTF-8" in ended.stderr, ended
    assert b"1 failed" in ended.stdout


def test_completed_names_are_one_word_for_the_shell(broker, directory):
    name = f"$(touch {directory}/pwned) two"
    broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": 1} for queue in (name, "two\nlines")]})
    os.symlink(binary(), f"{directory}/queen")
    script = """source <(queen completion bash)
        COMP_WORDS=(queen tail ''); COMP_CWORD=2; _queen
        for name in "${COMPREPLY[@]}"; do eval "typed=($name)"; printf '%s\\n' "${#typed[@]} ${typed[0]}"; done"""
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=30, check=False,
                           env=base_environment() | {"QUEEN_URL": broker.url, "PATH": f"{directory}:/usr/bin:/bin"})
    assert not os.path.exists(f"{directory}/pwned"), "the name of a queue was run as a command"
    lines = ended.stdout.splitlines()
    assert f"1 {name}" in lines and "1 two" not in lines, ended
