"""The Postgres object does what its methods say."""

import os
import socket

from support.postgres import PASSWORD, Postgres, control_state
from support.process import is_running, run, wait_until
from support.shared_memory import segment_of, segments


def over_tcp(postgres, sql, port=None):
    """Asks as the broker does: by address, with the password."""
    environment = {"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD, "PGCONNECT_TIMEOUT": "5"}
    return run([os.path.join(postgres.bin, "psql"), "-XAtqw", "-h", postgres.host, "-p",
                str(port or postgres.port), "-U", "queen", "-d", "queen", "-c", sql],
               check=False, env=environment)


def test_serves_queen_without_superuser(postgres):
    assert postgres.psql("SELECT current_user || '/' || current_database()") == "queen/queen"
    assert postgres.psql("SELECT rolsuper FROM pg_roles WHERE rolname = 'queen'") == "f"
    assert over_tcp(postgres, "SELECT 1") == (0, "1\n")
    environment = {"PATH": os.environ["PATH"]}
    code, _ = run([os.path.join(postgres.bin, "psql"), "-XAtq", "-d", postgres.url, "-c",
                   "SELECT 1"], check=False, env=environment)
    assert code == 0


def test_stop_start_and_restart_keep_data(postgres):
    postgres.psql("CREATE TABLE t AS SELECT 7 AS n")
    postgres.stop()
    assert postgres.pid is None
    assert control_state(postgres.data) == "shut down"
    assert over_tcp(postgres, "SELECT 1")[0] != 0
    postgres.start()
    for mode in ("smart", "fast", "immediate"):
        before = postgres.pid
        postgres.restart(mode)
        assert postgres.pid != before
        assert postgres.psql("SELECT n FROM t") == "7"


def test_kill9_ends_every_process_and_start_recovers(postgres):
    postgres.psql("CREATE TABLE t AS SELECT 7 AS n")
    pid = postgres.pid
    postgres.kill9()
    assert not is_running(pid)
    assert control_state(postgres.data) == "in production"
    postgres.start()
    assert postgres.psql("SELECT n FROM t") == "7"


def test_pause_hangs_connections_until_resume(postgres):
    postgres.pause()
    with socket.create_connection((postgres.host, postgres.port), timeout=5) as connection:
        connection.settimeout(0.3)
        connection.sendall(b"\x00\x00\x00\x08\x04\xd2\x16\x2f")  # asks for TLS; answered S or N
        try:
            assert connection.recv(1) == b"nothing"
        except TimeoutError:
            pass
        postgres.resume()
        connection.settimeout(10)
        assert connection.recv(1) in (b"S", b"N")
    assert postgres.psql("SELECT 1") == "1"


def test_terminate_backends_ends_connections(postgres):
    assert postgres.terminate_backends() == "0"


def test_close_leaves_nothing(make_postgres):
    postgres = make_postgres()
    pid, directory = postgres.pid, postgres.directory
    postgres.close()
    wait_until(lambda: not is_running(pid))
    assert not os.path.exists(directory)


def test_close_gives_the_shared_memory_of_a_killed_server_back():
    server = Postgres()
    try:
        server.start()
        maker, number = segment_of(server.data)
        assert maker == server.pid and segments()[number][0] == maker
        server.kill9()
        assert segments()[number] == (maker, 0), "the kernel removes it by itself"
    finally:
        server.close()
    assert segments().get(number, (None,))[0] != maker
    assert not os.path.exists(server.directory)
