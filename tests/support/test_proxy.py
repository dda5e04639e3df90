"""The Proxy object does what its methods say, tried on an echo server."""

import socket
import threading
import time

import pytest

from support.process import free_port


class Echo:
    """Sends back what it gets, in capitals; remembers it."""

    def __init__(self):
        self.seen = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            try:
                while data := connection.recv(65536):
                    self.seen += data
                    connection.sendall(data.upper())
            except OSError:
                pass

    def close(self):
        self._listener.close()


@pytest.fixture
def echo(closing):
    return closing(Echo())


@pytest.fixture
def proxy(echo, make_proxy):
    return make_proxy(echo.host, echo.port)


def connect(proxy):
    connection = socket.create_connection((proxy.host, proxy.port), timeout=10)
    return connection


def exchange(connection, data):
    connection.sendall(data)
    answer = b""
    while len(answer) < len(data):
        part = connection.recv(65536)
        if not part:
            break
        answer += part
    return answer


def silent(connection, seconds=0.3):
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b"never"
    except TimeoutError:
        return True
    finally:
        connection.settimeout(10)


def test_forwards_both_ways_and_the_end(proxy):
    with connect(proxy) as connection:
        assert exchange(connection, b"hello") == b"HELLO"
        big = b"x" * 3_000_000
        sender = threading.Thread(target=connection.sendall, args=(big,))
        sender.start()
        got = 0
        while got < len(big):
            got += len(connection.recv(1 << 20))
        sender.join()
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert proxy.connections_taken == 1


def test_freeze_holds_bytes_and_forward_releases_them(proxy):
    with connect(proxy) as connection:
        assert exchange(connection, b"a") == b"A"
        proxy.freeze()
        connection.sendall(b"b")
        assert silent(connection)
        with connect(proxy) as late:
            late.sendall(b"c")
            assert silent(late)
            proxy.forward()
            assert connection.recv(1) == b"B"
            assert late.recv(1) == b"C"


def test_freeze_of_replies_lets_requests_through(proxy, echo):
    with connect(proxy) as connection:
        assert exchange(connection, b"a") == b"A"
        proxy.freeze(replies_only=True)
        connection.sendall(b"commit")
        deadline = time.monotonic() + 10
        while echo.seen != b"acommit" and time.monotonic() < deadline:
            time.sleep(0.01)
        assert echo.seen == b"acommit"
        assert silent(connection)
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    proxy.forward()
    with connect(proxy) as connection:
        assert exchange(connection, b"again") == b"AGAIN"


def test_cut_reply_lets_the_request_through_and_resets_its_connection_only(proxy, echo):
    with connect(proxy) as connection, connect(proxy) as beside:
        assert exchange(connection, b"a") == b"A" and exchange(beside, b"b") == b"B"
        proxy.cut_reply(b"commit")
        connection.sendall(b"commit")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
        assert echo.seen == b"abcommit" and proxy.replies_cut() == 1
        assert exchange(beside, b"commit") == b"COMMIT"


def test_cut_reply_at_once_does_not_wait_for_the_answer(proxy):
    with connect(proxy) as connection:
        assert exchange(connection, b"a") == b"A"
        proxy.freeze(replies_only=True)
        proxy.cut_reply(b"commit", at_once=True)
        connection.sendall(b"commit")
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
        assert proxy.replies_cut() == 0
        proxy.forward()
    with connect(proxy) as connection:
        assert exchange(connection, b"again") == b"AGAIN"


def test_cut_resets_present_connections_only(proxy):
    with connect(proxy) as connection:
        assert exchange(connection, b"a") == b"A"
        assert proxy.connections() == 1
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            connection.recv(1)
    with connect(proxy) as connection:
        assert exchange(connection, b"b") == b"B"


def test_refuse_then_forward(proxy):
    with connect(proxy) as connection:
        assert exchange(connection, b"a") == b"A"
        proxy.refuse()
        with pytest.raises(ConnectionRefusedError):
            connect(proxy)
        assert exchange(connection, b"b") == b"B", "the present one goes on"
        proxy.forward()
        with connect(proxy) as late:
            assert exchange(late, b"c") == b"C"


def test_delay(proxy):
    with connect(proxy) as connection:
        proxy.delay(0.1)
        began = time.monotonic()
        assert exchange(connection, b"a") == b"A"
        assert time.monotonic() - began >= 0.2
        proxy.forward()


def test_a_dead_target_resets_the_client(make_proxy):
    proxy = make_proxy("127.0.0.1", free_port())
    # The reset may come while the client is still connecting.
    with pytest.raises(ConnectionResetError), connect(proxy) as connection:
        connection.recv(1)
