"""A broker against the model, at random; `make model` does it for longer."""

from history.run import new_seed
from model.run import check

SECONDS = 60


def test_one_broker(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    check([(broker.host, broker.port)], new_seed(), SECONDS, postgres)


def test_two_brokers(postgres, make_broker):
    """Each request goes to either of them: what one was told the other must know."""
    brokers = [make_broker("--num-workers", "2", env=postgres.env()).start() for _ in range(2)]
    check([(broker.host, broker.port) for broker in brokers], new_seed(), SECONDS / 3, postgres)
