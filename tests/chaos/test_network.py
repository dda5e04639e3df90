"""Three brokers in network namespaces of their own. Whatever becomes of the packets between them, nothing is
lost, doubled or reordered: PostgreSQL, which they reach another way, decides."""

import pytest

from history.run import SETTINGS, check, new_seed
from history.workload import Plan
from support import udp
from support.namespaces import BrokerInNamespace, Namespaces, reason_to_skip
from support.process import wait_until
from support.shared_state import peers, wait_acquainted

UDP_PORT = 6633


def skip_unless_possible(impaired=False):
    reason = reason_to_skip(impaired)
    if reason is not None:
        print(f"skipped: {reason}")
        pytest.skip(reason)


@pytest.fixture
def impairable():
    """Before anything is started."""
    skip_unless_possible(impaired=True)


@pytest.fixture
def three(postgres, closing):
    """(Namespaces, three Brokers in them)."""
    skip_unless_possible()
    namespaces = Namespaces(3)
    try:
        everybody = ",".join(f"{namespaces.address(number)}:{UDP_PORT}" for number in range(3))
        env = postgres.env(host=postgres.directory) | SETTINGS | {"QUEEN_UDP_PEERS": everybody, "QUEEN_SYNC_SECRET": udp.SECRET,
                                                                   "QUEEN_ALLOW_ANONYMOUS": "true"}
        brokers = [closing(BrokerInNamespace(namespaces, number, "--num-workers", "2", env=env)) for number in range(3)]
        for broker in brokers:
            broker.start()
        wait_acquainted(brokers)
        yield namespaces, brokers
    finally:
        namespaces.close()


def plan(brokers):
    addresses = [(broker.host, broker.port) for broker in brokers]
    return Plan(6_000, seed=new_seed(), push_to=addresses[:1], pop_from=addresses, cold=20, batch=50)


def test_one_is_cut_off_from_its_peers_but_not_from_postgresql(three):
    namespaces, brokers = three
    assert check(plan(brokers), lambda: namespaces.cut_off(2))
    wait_until(lambda: len(peers(brokers[0], "dead")) == 1 and len(peers(brokers[2], "dead")) == 2,
               what="those who are cut off to be missed")
    assert len(peers(brokers[0])) == 1 and brokers[2].get("/health").status == 200
    namespaces.cut_off(2, False)
    wait_acquainted(brokers)


@pytest.mark.usefixtures("impairable")
def test_links_that_lose_delay_double_and_reorder(three):
    namespaces, brokers = three
    for number in range(3):
        namespaces.impair(number, "loss", "10%", "delay", "5ms", "5ms", "duplicate", "10%")
    assert check(plan(brokers))
