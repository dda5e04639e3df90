"""The example in deploy/ha: three databases under Patroni, two brokers, and a primary that dies under load."""

import contextlib
import json
import os
import re
import subprocess
import sys
import types

import pytest

from chaos.load import under_load
from support.broker import REPOSITORY, binary
from support.fixtures import directory  # noqa: F401
from support.process import wait_until

COMMANDS = os.path.join(REPOSITORY, "deploy", "ha")
SECONDS = 300     # for one command; a guard, not a measurement
RATE = 1_000      # messages a second: eleven processes share the machine
# Ends everything when the test has ended, however it has.
GUARDIAN = "import subprocess, sys; sys.stdin.read(); sys.exit(subprocess.run(sys.argv[1:]).returncode)"


class Example:
    """The commands of the example, on one directory."""

    def __init__(self, directory):
        self.directory = os.path.join(directory, "cluster")

    def command(self, name):
        """Runs one to its end; returns what it printed."""
        done = subprocess.run([os.path.join(COMMANDS, name), self.directory], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS,
                              env=dict(os.environ, QUEEN_BINARY=binary()), check=False)
        assert done.returncode == 0, f"deploy/ha/{name} ended with {done.returncode}:\n{done.stdout}"
        print(done.stdout, flush=True)
        return done.stdout

    def state(self):
        """What cluster.json says."""
        with open(os.path.join(self.directory, "cluster.json"), encoding="utf-8") as file:
            return json.load(file)

    def brokers(self):
        """Their addresses, as under_load takes them."""
        ports = self.state()["ports"]
        return [types.SimpleNamespace(host="127.0.0.1", port=ports[name]) for name in ("broker1", "broker2")]


@pytest.fixture
def example(directory):
    """Not started; everything is stopped at the end."""
    stop = [os.path.join(COMMANDS, "stop"), os.path.join(directory, "cluster")]
    with subprocess.Popen([sys.executable, "-c", GUARDIAN, *stop], stdin=subprocess.PIPE,
                          start_new_session=True) as guardian:
        yield Example(directory)
        guardian.stdin.close()
        assert guardian.wait(SECONDS) == 0


@contextlib.contextmanager
def watched(example):
    """Runs deploy/ha/watch beside; its output is in the file that is returned."""
    path = os.path.join(os.path.dirname(example.directory), "watch.log")
    with open(path, "wb") as output, subprocess.Popen(
            [os.path.join(COMMANDS, "watch"), example.directory], stdout=output) as watch:
        try:
            yield path
            example.command("stop")
            assert watch.wait(60) == 0
        finally:
            watch.kill()


def role_of(text, role):
    """Which node has that role in the output of a command."""
    found = re.search(rf"^(node\d) .* {role} ", text, re.MULTILINE)
    return found and found.group(1)


def test_the_primary_dies_under_load_and_nothing_is_lost(example):
    """Only the synchronous standby may take over; all of it with the commands that people use."""
    started = example.command("start")
    primary, synchronous = role_of(started, "leader"), role_of(started, "sync_standby")
    assert primary and synchronous, started
    printed = []

    def during(progress):
        progress.wait(300)
        printed.append(example.command("failover"))
        progress.wait(300)
    with watched(example) as watch_log:
        assert under_load(example.brokers(), during, rate=RATE)
        with open(watch_log, encoding="utf-8") as file:
            wait_until(lambda: role_of(file.read(), "leader"), what="watch to print")
    assert f"killing {primary}" in printed[0]
    assert f"{synchronous} is the primary after" in printed[0]
    assert len(re.findall(r"^broker\d: [\d.]+ s without service", printed[0], re.MULTILINE)) == 2
    with open(watch_log, encoding="utf-8") as file:
        shown = file.read()
    assert re.search(rf"^{synchronous} .* leader ", shown, re.MULTILINE), shown
    assert shown.endswith("nothing runs\n")
