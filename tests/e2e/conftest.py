"""For every test here: the usual fixtures, and each reply is held to the description of the API."""
import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import described, http_client  # noqa: E402
from support.fixtures import (  # noqa: E402,F401
    closing, directory, make_broker, make_cluster, make_postgres, make_proxy, postgres, queue, two_brokers)

# A reply that is larger takes long to check, and is like the small ones.
CHECKED_BYTES_MAX = 256 << 10
DESCRIPTION = described.Description(described.load())


@pytest.fixture(autouse=True)
def every_reply_is_described():
    """Tests ask from threads of their own, so what is found is told at the end of the test."""
    problems = []

    def observe(method, path, body, reply):
        if len(reply.body) > CHECKED_BYTES_MAX:
            return
        try:
            DESCRIPTION.check(method, path, body, reply)
        except (described.NotDescribed, ValueError) as problem:
            problems.append(str(problem))
    http_client.observers.append(observe)
    yield
    http_client.observers.remove(observe)
    assert not problems, "\n".join(problems[:5])
