"""Nothing is lost, doubled or reordered while many clients do all they may at once."""

from history.run import check, new_seed
from history.workload import Plan


def address(broker):
    return broker.host, broker.port


def test_one_broker(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    assert check(Plan(200_000, seed=new_seed(), push_to=[address(broker)],
                      pop_from=[address(broker)]))


def test_two_brokers_one_pushes_and_the_other_delivers(postgres, make_broker):
    pushing = make_broker("--num-workers", "2", env=postgres.env()).start()
    popping = make_broker("--num-workers", "2", env=postgres.env()).start()
    assert check(Plan(20_000, seed=new_seed(), push_to=[address(pushing)],
                      pop_from=[address(popping)]))


def test_two_brokers_both_push_and_deliver(postgres, make_broker):
    brokers = [make_broker("--num-workers", "2", env=postgres.env()).start() for _ in range(2)]
    addresses = [address(broker) for broker in brokers]
    assert check(Plan(20_000, seed=new_seed(), push_to=addresses, pop_from=addresses))
