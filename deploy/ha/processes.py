"""Processes that outlive the command which started them, and are found again by pid and start time."""

import os
import pwd
import signal
import socket
import subprocess
import time


def unprivileged():
    """Whom the servers run as: `postgres` for root, because PostgreSQL refuses root, else ourselves (None)."""
    return pwd.getpwnam("postgres") if os.geteuid() == 0 else None


def identity(user):
    """What subprocess needs to run as that user."""
    return {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def start(argv, log_path, env, user, cwd):
    """Starts a program that goes on without us; its output goes to a file. Returns what is_running takes."""
    with open(log_path, "ab") as log:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                   env=env, cwd=cwd, start_new_session=True, umask=0o077, **identity(user))
    return {"pid": process.pid, "born": _born(process.pid)}


def is_running(process):
    """True while it exists and is no zombie. Another one that has its pid by now is not it."""
    return process is not None and _born(process["pid"]) == process["born"] is not None


def end(process, sig):
    """Signals it if it still runs."""
    if is_running(process):
        os.kill(process["pid"], sig)


def end_all(processes, seconds, sig=signal.SIGTERM):
    """Asks all of them to end and waits; kills those that do not within the time."""
    for process in processes:
        end(process, sig)
    deadline = time.monotonic() + seconds
    while any(is_running(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in processes:
        end(process, signal.SIGKILL)


def family_of(pid):
    """That process and its children, as is_running takes them; none when it is None or gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            pids = [pid] + [int(child) for child in file.read().split()]
    except OSError:
        return []
    return [{"pid": each, "born": _born(each)} for each in pids if _born(each) is not None]


def free_port(addresses, taken):
    """A port that nobody uses on any of the addresses and that is not in `taken`, below the range of outgoing
    connections."""
    for port in range(20000 + os.getpid() % 10000, 32000):
        if port not in taken and all(_is_free(address, port) for address in addresses):
            return port
    raise RuntimeError("no free port found")


def _is_free(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.bind((address, port))
            return True
        except OSError:
            return False


def _born(pid):
    """When the process began, in the kernel's own unit; None when it is gone or a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else int(fields[19])
