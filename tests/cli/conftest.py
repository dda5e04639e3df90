import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.cli import Cli  # noqa: E402
from support.fixtures import (  # noqa: E402,F401
    closing, directory, make_broker, make_postgres, make_proxy, one_broker)


@pytest.fixture(name="cli")
def make_cli(broker):
    """The commands against that broker."""
    return Cli(broker.url)
