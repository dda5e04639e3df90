"""Child processes that never outlive the tests.

Every process is started in a session of its own, is sent a signal by the kernel when the tests die
(PR_SET_PDEATHSIG), and is signalled by its pid only.
"""

import contextlib
import ctypes
import os
import pwd
import random
import signal
import socket
import subprocess
import time

_PR_SET_PDEATHSIG = 1
_PR_SET_TIMERSLACK = 29
_libc = ctypes.CDLL(None, use_errno=True)


def wait_until(condition, seconds=30.0, what="the condition", interval=0.02):
    """Polls until condition() is true and returns its value; an AssertionError after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain for {what}")
        time.sleep(interval)


def free_port():
    """A TCP port of the loopback that nobody uses, outside the range of outgoing connections."""
    for _ in range(200):
        port = random.randrange(20000, 32000)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("no free port found")


def unprivileged():
    """The user PostgreSQL runs as: `postgres` for root, else ourselves (None)."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


def give_to(path, user):
    """Makes `user` (see unprivileged) the owner of `path`."""
    if user is not None:
        os.chown(path, user.pw_uid, user.pw_gid)


def spawn(argv, *, user=None, output=subprocess.DEVNULL, env=None, cwd="/", dies_with=signal.SIGKILL):
    """Starts a program; `dies_with` is the signal it gets when the tests end without stopping it."""
    parent = os.getpid()

    def tie_to_parent():  # runs after the change of user, which would undo it
        _libc.prctl(_PR_SET_PDEATHSIG, int(dies_with))
        if os.getppid() != parent:
            os._exit(1)

    identity = {}
    if user is not None:
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                            env=env, cwd=cwd, start_new_session=True, preexec_fn=tie_to_parent,
                            umask=0o077, **identity)


def run(argv, *, user=None, check=True, timeout=60, env=None):
    """Runs a program to its end; returns (exit code, output). Fails the test unless `check` is off."""
    identity = {}
    if user is not None:
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, cwd="/", timeout=timeout, env=env, check=False,
                          **identity)
    output = done.stdout.decode("utf-8", "replace")
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(argv)} ended with {done.returncode}:\n{output}")
    return done.returncode, output


def children_of(pid):
    """Pids of the direct children of `pid`."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def is_running(pid):
    """True while `pid` exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def send(pid, sig):
    """Signals a process that may be gone already."""
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        pass


@contextlib.contextmanager
def coarse_timers(milliseconds):
    """Processes started within have timers that may be late by that much, as on a machine that saves power."""
    _libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(milliseconds * 1_000_000))
    try:
        yield
    finally:
        _libc.prctl(_PR_SET_TIMERSLACK, ctypes.c_ulong(0))  # the usual one
