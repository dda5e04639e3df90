"""Fixtures: factories whose products are closed at the end of the test, in reverse order.

At teardown each product's log is printed, so that pytest shows it when the test failed.
"""

import contextlib
import os
import shutil
import tempfile

import pytest

from .broker import Broker, binary
from .postgres import Postgres
from .proxy import Proxy
from .udp import SECRET, free_udp_port


@pytest.fixture
def closing():
    """closing(thing) -> thing, closed at the end of the test."""
    things = []

    def add(thing):
        things.append(thing)
        return thing

    yield add
    with contextlib.ExitStack() as stack:  # closes the rest even when one of them fails
        for thing in things:
            stack.callback(thing.close)
        for thing in things:
            if hasattr(thing, "log"):
                print(f"---- log of {type(thing).__name__} {thing.directory}\n{thing.log()[-20000:]}")


@pytest.fixture
def make_postgres(closing):
    """make_postgres(settings=None, start=True) -> Postgres."""
    def make(settings=None, start=True):
        postgres = closing(Postgres(settings))
        if start:
            postgres.start()
        return postgres
    return make


@pytest.fixture
def postgres(make_postgres):
    """One running external cluster."""
    return make_postgres()


@pytest.fixture
def make_broker(closing):
    """make_broker(*args, env=..., data_dir=...) -> Broker, not started."""
    if not os.access(binary(), os.X_OK):
        pytest.fail(f"{binary()} is not there; build it or set QUEEN_BINARY")
    return lambda *args, **options: closing(Broker(*args, **options))


@pytest.fixture(scope="module", name="broker")
def one_broker():
    """A broker with a cluster of its own, for all tests of a file."""
    broker = Broker()
    try:
        yield broker.start()
    finally:
        print(broker.log()[-5000:])
        broker.close()


@pytest.fixture(scope="module")
def two_brokers():
    """(Postgres, Broker, Broker) on it, for a whole file; PostgreSQL counts the calls of functions."""
    with contextlib.ExitStack() as stack:
        def add(thing):
            stack.callback(thing.close)
            stack.callback(lambda: print(f"---- log of {type(thing).__name__}\n{thing.log()[-10000:]}"))
            return thing.start()

        postgres = Postgres({"track_functions": "all"})
        add(postgres)
        yield postgres, *(add(Broker("--num-workers", "2", env=postgres.env())) for _ in range(2))


@pytest.fixture
def make_cluster(make_broker):
    """make_cluster(postgres, count, peers=None, **env) -> brokers that know each other, started.

    `peers(udp ports, place)` is QUEEN_UDP_PEERS of one of them; else each names all, itself included.
    """
    def make(postgres, count, peers=None, **env):
        ports = [free_udp_port() for _ in range(count)]
        brokers = []
        for place, port in enumerate(ports):
            names = peers(ports, place) if peers else ",".join(f"127.0.0.1:{other}" for other in ports)
            broker = make_broker("--num-workers", "2", env=postgres.env() | {
                "QUEEN_UDP_PEERS": names, "QUEEN_UDP_NOTIFY_PORT": str(port), "QUEEN_SYNC_SECRET": SECRET} | env)
            broker.udp_port = port
            brokers.append(broker.start())
        return brokers
    return make


@pytest.fixture
def make_proxy(closing):
    """make_proxy(host, port) -> Proxy."""
    return lambda host, port: closing(Proxy(host, port))


@pytest.fixture
def directory():
    """An empty directory that every user may pass through."""
    path = tempfile.mkdtemp(prefix="queen-test.", dir="/tmp")
    os.chmod(path, 0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def queue(request):
    """The name of a queue that is the test's own."""
    return request.node.name.translate(str.maketrans("_[]", "---"))
