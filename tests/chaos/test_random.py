"""The randomised run (`make chaos`), short: every kind of fault at random, one broker and two. Among them I12:
a broker killed at any instant loses nothing it answered and leaves no partition stuck."""

import pytest

from chaos import run


@pytest.mark.parametrize("brokers, seconds", [(1, 12), (2, 6)])
def test_everything_breaks_at_random(brokers, seconds):
    assert run.run(run.parse(["--seconds", str(seconds), "--brokers", str(brokers)]))


def test_a_number_of_kills():
    assert run.run(run.parse(["--broker-kills", "4", "--postgres-kills", "1"]))
