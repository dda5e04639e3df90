"""The Debian package: made from the program that is built, installed on a copy of this machine, removed and purged."""

import os
import shutil
import signal
import subprocess
import tempfile

import pytest

from install.machine import Machine, reason_to_skip
from support import http_client
from support.broker import REPOSITORY, binary, sanitized
from support.process import free_port, run, send, spawn, wait_until

pytestmark = pytest.mark.skipif(reason_to_skip() is not None, reason=str(reason_to_skip()))
UNIT = "/lib/systemd/system/queen.service"
ENV = "/etc/queen/queen.env"


@pytest.fixture(scope="module")
def package():
    """The path of the .deb."""
    directory = tempfile.mkdtemp(prefix="queen-test-deb.", dir="/tmp")
    run([os.path.join(REPOSITORY, "scripts", "deb"), directory], timeout=300,
        env=os.environ | {"QUEEN_BUILD_DIR": os.path.dirname(binary()), "DEB_BUILD_OPTIONS": "noautodbgsym"})
    (name,) = os.listdir(directory)
    yield os.path.join(directory, name)
    shutil.rmtree(directory)


def make_machine(package):
    """A copy of this machine with the package at /root/queen.deb."""
    made = Machine()
    made.put("/root/queen.deb", package)
    if made.run("id", "queen", check=False)[0] == 0:
        made.close()
        pytest.skip("this machine has a user queen already")
    return made


def dpkg(machine, *words):
    machine.run("dpkg", "--no-triggers", *words)  # such as the index of all man pages, which takes seconds


@pytest.fixture
def machine(closing, package):
    """A machine without the package."""
    return closing(make_machine(package))


@pytest.fixture(scope="module")
def installed(package):
    """A machine with the package, for tests that leave it there."""
    made = make_machine(package)
    dpkg(made, "--install", "/root/queen.deb")
    yield made
    made.close()


def test_lintian_has_nothing_to_say(package):
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed")
    if sanitized():
        pytest.skip("nobody ships a program with a sanitizer")
    said = subprocess.run(["lintian", "--allow-root", "--fail-on=warning,error", package], capture_output=True,
                          text=True, check=False)
    assert said.returncode == 0 and said.stdout == "", said.stdout


def test_what_an_installation_brings(installed):
    assert installed.run("queen", "version")[1] == run([binary(), "version"])[1]
    for path in (UNIT, ENV, "/usr/share/man/man1/queen.1.gz", "/usr/share/doc/queen/README.md",
                 "/usr/share/doc/queen/docs/configuration.md", "/usr/share/doc/queen/copyright",
                 "/usr/share/bash-completion/completions/queen", "/usr/share/zsh/vendor-completions/_queen",
                 "/usr/share/fish/vendor_completions.d/queen.fish"):
        assert installed.has(path), path
    assert installed.run("stat", "-c", "%U %a", ENV)[1] == "root 600\n"
    assert ENV in installed.run("dpkg-query", "--show", "--showformat=${Conffiles}", "queen")[1]
    assert "/var/lib/queen" in installed.run("getent", "passwd", "queen")[1]
    # Nobody said yet which database it is for.
    assert installed.run("find", "/etc/systemd/system", "-name", "queen.service")[1] == ""


def test_the_unit_is_sound_and_closed_up(installed):
    assert installed.run("systemd-analyze", "verify", UNIT)[1] == ""
    # 0 is closed up, 10 is open; above 2.0 the command fails.
    code, said = installed.run("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", UNIT,
                               check=False)
    assert code == 0, said


def test_it_serves_as_the_user_of_the_service(installed, directory):
    """With a PostgreSQL of its own, as the unit starts it: the user, the directory, the environment."""
    installed.run("install", "-d", "-o", "queen", "-g", "queen", "-m", "750", "/var/lib/queen")  # systemd does it
    port = free_port()
    log = os.path.join(directory, "log")
    with open(log, "wb") as output:
        broker = spawn(installed.command(["/usr/bin/queen", "serve", "--port", str(port)], user="queen"), output=output,
                       env={"PATH": "/usr/sbin:/usr/bin", "LOG_FORMAT": "json", "QUEEN_DATA_DIR": "/var/lib/queen"})

    def ready():
        with open(log, encoding="utf-8") as said:
            assert broker.poll() is None, said.read()
        try:
            return http_client.request("127.0.0.1", port, "GET", "/readyz").status == 200
        except OSError:
            return False

    try:
        wait_until(ready, 90, "the installed broker")
        pushed = http_client.request("127.0.0.1", port, "POST", "/api/v1/push",
                                     {"items": [{"queue": "hello", "payload": 1}]})
        assert pushed.json()[0]["status"] == "queued"
    finally:  # nobody is left behind, whatever happens
        send(broker.pid, signal.SIGTERM)
        code = broker.wait(timeout=60)
    assert code == 0


def test_remove_keeps_settings_and_messages_and_purge_nothing(machine):
    dpkg(machine, "--install", "/root/queen.deb")
    machine.run("sh", "-c", f"echo PORT=7000 >>{ENV} && install -d -o queen /var/lib/queen/buffer")
    dpkg(machine, "--install", "/root/queen.deb")
    assert "PORT=7000" in machine.run("cat", ENV)[1], "an upgrade keeps what was set"

    dpkg(machine, "--remove", "queen")
    assert not machine.has("/usr/bin/queen") and not machine.has(UNIT)
    assert machine.has(ENV) and machine.has("/var/lib/queen/buffer")

    dpkg(machine, "--purge", "queen")
    left = [path for path in machine.changes() if not path.startswith("/etc/") or not path.endswith("-")]
    assert left == [], "files of this package, or of others that it changed"
