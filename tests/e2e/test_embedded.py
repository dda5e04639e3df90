"""The embedded cluster under faults, seen through the broker's own interface."""

import os
import signal

import pytest

from support.postgres import control_state
from support.process import is_running, send, wait_until


def push(broker, queue, n):
    return broker.post("/api/v1/push", {"items": [{"queue": queue, "payload": n}]})


def pop_all(broker, queue, count):
    """Payloads of `count` messages, popped and acknowledged by the pop itself."""
    payloads = []
    while len(payloads) < count:
        reply = broker.get(f"/api/v1/pop/queue/{queue}?batch=100&autoAck=true&wait=true&timeout=10000")
        assert reply.status == 200, f"{len(payloads)} of {count} messages, then {reply}"
        payloads += [message["data"] for message in reply.json()["messages"]]
    return payloads


def test_second_broker_on_the_directory_is_refused(make_broker, directory):
    data_dir = os.path.join(directory, "data")
    first = make_broker(data_dir=data_dir).start()
    second = make_broker(data_dir=data_dir)
    code, output = second.run_to_end()
    assert code != 0
    assert data_dir in output
    assert f"pid {first.pid}" in output
    assert first.get("/readyz").status == 200
    assert first.stop() == 0
    assert second.start().stop() == 0, "the directory is free again"


def test_restart_keeps_messages(make_broker):
    broker = make_broker().start()
    for n in range(10):
        assert push(broker, "embedded.restart", n).status == 201
    assert broker.stop() == 0
    broker.start()
    assert pop_all(broker, "embedded.restart", 10) == list(range(10))


def test_kill9_of_the_broker_and_restart_recovers(make_broker):
    broker = make_broker().start()
    for n in range(20):
        assert push(broker, "embedded.kill9", n).status == 201
    postmaster = broker.postmaster_pid()
    broker.kill9()
    broker.start()  # at once, while the old server may still be going down
    assert not is_running(postmaster)
    assert pop_all(broker, "embedded.kill9", 20) == list(range(20))
    assert broker.stop() == 0
    assert control_state(broker.cluster_directory) == "shut down"


def test_a_killed_broker_leaves_no_server(make_broker):
    broker = make_broker().start()
    postmaster = broker.postmaster_pid()
    broker.kill9()
    wait_until(lambda: not is_running(postmaster), 60, "the server to follow its broker")
    assert control_state(broker.cluster_directory) == "shut down"


def test_broker_and_server_killed_together(make_broker):
    """As after a power failure: a stale postmaster.pid and recovery from the WAL."""
    broker = make_broker().start()
    assert push(broker, "embedded.power", 1).status == 201
    postmaster = broker.postmaster_pid()
    broker.pause()  # cannot react
    send(postmaster, signal.SIGKILL)
    broker.kill9()
    wait_until(lambda: not is_running(postmaster), what="the server to die")
    assert os.path.exists(os.path.join(broker.cluster_directory, "postmaster.pid"))
    broker.start()
    assert pop_all(broker, "embedded.power", 1) == [1]


def test_kill9_of_the_server_turns_unready_then_ready(make_broker):
    broker = make_broker().start()
    assert push(broker, "embedded.server", 1).status == 201
    pid, postmaster = broker.pid, broker.postmaster_pid()
    send(postmaster, signal.SIGKILL)
    wait_until(lambda: broker.postmaster_pid() not in (None, postmaster), what="a new server")
    broker.wait_for("/readyz", 200)
    assert broker.get("/health").json()["status"] == "healthy"
    assert pop_all(broker, "embedded.server", 1) == [1]
    assert broker.pid == pid, "the broker lived through it"
    assert "exited unexpectedly" in broker.log()


def test_unready_while_the_server_cannot_start(make_broker):
    """An operator's mistake in the settings: 503 as long as it lasts, then 200 by itself."""
    broker = make_broker().start()
    custom = os.path.join(broker.data_dir, "postgres-custom.conf")
    with open(custom, "w", encoding="ascii") as file:
        file.write("no_such_setting = 1\n")
    os.chmod(custom, 0o644)
    send(broker.postmaster_pid(), signal.SIGKILL)
    broker.wait_for("/readyz", 503)
    assert broker.get("/livez").status == 200
    assert broker.get("/health").status == 503
    wait_until(lambda: "no_such_setting" in broker.log(), what="the reason in the broker's log")
    os.unlink(custom)
    broker.wait_for("/readyz", 200)
    assert push(broker, "embedded.custom", 1).status == 201
    assert broker.stop() == 0


def test_only_the_socket_is_open(make_broker):
    """The cluster listens on no TCP port, and strangers may not reach its socket."""
    broker = make_broker().start()
    postmaster = broker.postmaster_pid()
    inodes = set()
    for fd in os.listdir(f"/proc/{postmaster}/fd"):
        try:
            target = os.readlink(f"/proc/{postmaster}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    for table in ("tcp", "tcp6"):
        with open(f"/proc/{postmaster}/net/{table}", encoding="ascii") as file:
            assert not [line for line in file if line.split()[9] in inodes]
    run_directory = os.path.join(broker.data_dir, "run")
    assert os.stat(run_directory).st_mode & 0o777 == 0o700
    assert os.stat(broker.cluster_directory).st_mode & 0o077 == 0


def test_root_runs_the_cluster_as_somebody_else(make_broker):
    if os.geteuid() != 0:
        pytest.skip("only root drops its privileges")
    broker = make_broker().start()
    assert os.stat(f"/proc/{broker.postmaster_pid()}").st_uid != 0
    assert os.stat(broker.cluster_directory).st_uid != 0


def test_an_unusable_directory_is_refused_by_name(make_broker, directory):
    path = os.path.join(directory, "a-file")
    with open(path, "w", encoding="ascii") as file:
        file.write("not a directory")
    code, output = make_broker(data_dir=path).run_to_end()
    assert code != 0
    assert path in output


def test_a_directory_the_clusters_user_cannot_reach_is_refused_by_component(make_broker, directory):
    if os.geteuid() != 0:
        pytest.skip("only root drops its privileges")
    closed = os.path.join(directory, "closed")
    os.makedirs(os.path.join(closed, "inner"))
    os.chmod(closed, 0o700)
    code, output = make_broker(data_dir=os.path.join(closed, "inner", "data")).run_to_end()
    assert code != 0
    assert f"may not enter {closed}" in output
