"""Nothing is lost, doubled or reordered while many clients do all they may at once."""

import time

from history.run import SETTINGS, check, new_seed
from history.workload import Plan
from support.shared_state import shared_state, wait_acquainted
from support.udp import Wire


def address(broker):
    return broker.host, broker.port


def test_one_broker(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env() | SETTINGS).start()
    assert check(Plan(200_000, seed=new_seed(), push_to=[address(broker)],
                      pop_from=[address(broker)]))


def test_two_brokers_one_pushes_and_the_other_delivers(postgres, make_broker):
    pushing = make_broker("--num-workers", "2", env=postgres.env() | SETTINGS).start()
    popping = make_broker("--num-workers", "2", env=postgres.env() | SETTINGS).start()
    assert check(Plan(20_000, seed=new_seed(), push_to=[address(pushing)],
                      pop_from=[address(popping)]))


def test_two_brokers_both_push_and_deliver(postgres, make_broker):
    brokers = [make_broker("--num-workers", "2", env=postgres.env() | SETTINGS).start() for _ in range(2)]
    addresses = [address(broker) for broker in brokers]
    assert check(Plan(20_000, seed=new_seed(), push_to=addresses, pop_from=addresses))


def test_three_brokers_that_tell_each_other(postgres, make_cluster):
    brokers = make_cluster(postgres, 3, **SETTINGS)
    wait_acquainted(brokers)
    addresses = [address(broker) for broker in brokers]
    assert check(Plan(20_000, seed=new_seed(), push_to=addresses[:2], pop_from=addresses[1:]))
    assert all(shared_state(broker)["hints"]["received"] > 0 for broker in brokers[1:])


def test_two_brokers_and_half_of_what_they_tell(postgres, make_cluster, closing):
    """The other half is lost; what arrives arrives twice."""
    wires = []

    def name_the_wire(ports, _):
        if not wires:
            wires.append(closing(Wire(ports, seed=new_seed())))
        return f"127.0.0.1:{wires[0].port}"
    brokers = make_cluster(postgres, 2, name_the_wire, **SETTINGS)
    wait_acquainted(brokers)
    wires[0].loss, wires[0].twice = 0.5, True
    addresses = [address(broker) for broker in brokers]
    assert check(Plan(10_000, seed=new_seed(), push_to=addresses[:1], pop_from=addresses[::-1]))
    assert shared_state(brokers[1])["udp"]["packets_dropped"]["replayed"] > 0


def test_a_broker_is_killed_while_others_hold_the_rest(postgres, make_cluster):
    """It has leases, waiters and a place in the others' tables when it dies; it comes back as a stranger."""
    brokers = make_cluster(postgres, 2)
    wait_acquainted(brokers)
    addresses = [address(broker) for broker in brokers]

    def during():
        for broker in brokers:
            time.sleep(1)  # load, not an event
            broker.kill9()
            broker.start()
    assert check(Plan(15_000, seed=new_seed(), push_to=addresses, pop_from=addresses, cold=20, faults=True,
                      batch=50), during)
    wait_acquainted(brokers)


def faulty_plan(broker):
    return Plan(20_000, seed=new_seed(), push_to=[address(broker)], pop_from=[address(broker)],
                cold=20, faults=True, batch=50)


def test_the_broker_is_killed_again_and_again(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()

    def during():
        for _ in range(3):
            time.sleep(1)  # load, not an event
            broker.kill9()
            broker.start()
    assert check(faulty_plan(broker), during)


def test_postgresql_crashes_and_comes_back(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()

    def during():
        for mode in ("immediate", "fast"):
            time.sleep(1)
            postgres.restart(mode)
            broker.wait_for("/readyz", 200)
    assert check(faulty_plan(broker), during)
    assert broker.get("/health").status == 200
