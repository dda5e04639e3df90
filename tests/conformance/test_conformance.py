"""Every conformance case, each a test of its own, against one broker with its own PostgreSQL."""

import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import case_runner  # noqa: E402
from support.broker import Broker  # noqa: E402


def all_cases():
    """(file, case) as test parameters."""
    for path in case_runner.files():
        file = os.path.splitext(os.path.basename(path))[0]
        for case in case_runner.load(path):
            yield pytest.param(case, id=f"{file}: {case['name']}")


@pytest.fixture(scope="module")
def broker():
    """Shared: cases keep to queues of their own."""
    one = Broker()
    try:
        yield one.start()
    finally:
        print(one.log()[-20000:])
        one.close()


@pytest.mark.parametrize("case", all_cases())
def test_case(broker, case):
    """One case of the contract."""
    problem = case_runner.run_case(broker.url, case)
    assert problem is None, f"{case['name']}: {problem}"
