"""Shell completion: the candidates, and each script in its real shell."""

import os
import subprocess

import pytest

from support.broker import base_environment, binary


def candidates(cli, *words):
    return [line.split("\t")[0] for line in cli("__complete", *words).out.splitlines()]


def test_candidates(cli):
    cli("push", "orders", "1")
    assert {"push", "pop", "serve", "bench", "dlq"} <= set(candidates(cli, ""))
    assert candidates(cli, "dlq", "") == ["list", "redrive", "purge"]
    assert candidates(cli, "dlq", "redrive", "--li") == ["--limit"]
    assert candidates(cli, "pop", "-o", "") == ["table", "json"]
    assert "orders" in candidates(cli, "pop", "")
    assert candidates(cli, "push", "q", "--file", "") == [":files"]
    assert "--port" in candidates(cli, "serve", "--po")


def environment(directory, url):
    os.symlink(binary(), f"{directory}/queen")
    return base_environment() | {"PATH": f"{directory}:/usr/bin:/bin", "QUEEN_URL": url, "HOME": directory}


SCRIPTS = {
    "bash": """source <(queen completion bash)
               COMP_WORDS=(queen dlq re); COMP_CWORD=2; _queen; printf '%s\\n' "${COMPREPLY[@]}" """,
    "fish": """queen completion fish | source
               complete -C 'queen dlq re' | string replace -r '\\t.*' ''""",
    # zsh completes only in a terminal of its own: the script's function is called with the words set.
    "zsh": """compdef() { :; }; eval "$(queen completion zsh)"
              _describe() { print -l -- "${(@P)2%%:*}" }
              words=(queen dlq re); CURRENT=3; _queen""",
}


@pytest.mark.parametrize("shell", sorted(SCRIPTS))
def test_in_a_real_shell(shell, broker, directory):
    ended = subprocess.run([shell, "-c", SCRIPTS[shell]], capture_output=True, text=True, timeout=60, check=False,
                           env=environment(directory, broker.url))
    assert ended.stdout.split() == ["redrive"], ended


def test_another_shell(cli):
    cli("completion", "tcsh", code=2)
    assert "complete -F _queen queen" in cli("completion", "bash").out
