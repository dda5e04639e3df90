import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.broker import Broker  # noqa: E402
from support.cli import Cli  # noqa: E402
from support.fixtures import closing, directory, make_broker, make_postgres, make_proxy  # noqa: E402,F401


@pytest.fixture(scope="module", name="broker")
def one_broker():
    """A broker with a cluster of its own, for all tests of a file."""
    broker = Broker()
    try:
        yield broker.start()
    finally:
        print(broker.log()[-5000:])
        broker.close()


@pytest.fixture(name="cli")
def make_cli(broker):
    """The commands against that broker."""
    return Cli(broker.url)
