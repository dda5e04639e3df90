"""Leases that nobody uses do not stay until they run out: they are given back, however often that fails, and
a partition that was freed meanwhile is not believed to be held."""

import concurrent.futures

import pytest

from chaos.overload import Call
from proved.wire_proxy import WireProxy
from support.acks import ack_of
from support.leaving_client import LeavingClient
from support.process import wait_until

QUEUE = "leases.orders"
LEASE_SECONDS = 600  # longer than any test waits


def push(broker, *numbers):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": QUEUE, "partition": "p", "payload": number} for number in numbers]})
    assert reply.status == 201, reply


def pop(broker, options=""):
    reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?leaseTime={LEASE_SECONDS}{options}", timeout=60)
    assert reply.status in (200, 204), reply
    return reply.json()["messages"] if reply.status == 200 else []


def ack(broker, message):
    reply = broker.post("/api/v1/ack", ack_of(message))
    assert reply.status == 200 and reply.json()[0]["success"] is True, reply


def leased(postgres):
    """Is the partition under a lease?"""
    return postgres.psql("SELECT lease_until > now() FROM queen.progress ORDER BY epoch DESC LIMIT 1") == "t"


def leave(broker, postgres):
    """A client has left before its lease is there; the lease waits for `unlock()` of what is returned."""
    return LeavingClient(broker, postgres, f"/api/v1/pop/queue/{QUEUE}?leaseTime={LEASE_SECONDS}")


@pytest.fixture
def gated(make_broker, postgres, closing):
    """(WireProxy, Broker behind it with one message that is in no lease, and a group that is known)"""
    proxy = closing(WireProxy(postgres.host, postgres.port))
    broker = make_broker("--num-workers", "1", env=postgres.env(proxy.host, proxy.port)).start()
    push(broker, 0)
    ack(broker, pop(broker)[0])
    push(broker, 1)
    return proxy, broker


def test_a_client_that_leaves_while_names_are_looked_up(make_broker, postgres, closing):
    """Its pop does not stay behind, waiting for a queue that does not exist: there is room for another. (The pop
    that waits before it is the one that is tried now and then.)"""
    proxy = closing(WireProxy(postgres.host, postgres.port))
    broker = make_broker("--num-workers", "1", "--sidecar-pops-max", "2",
                         env=postgres.env(proxy.host, proxy.port)).start()
    path = f"/api/v1/pop/queue/{QUEUE}"
    assert broker.get(path).status == 204  # the group's start is recorded
    waiting = Call(broker, "GET", f"{path}?wait=true&timeout=600000")
    proxy.hold(b"find_pop_names")
    Call(broker, "GET", f"{path}?wait=true&timeout=600000").socket.close()
    proxy.wait_held()
    for _ in range(2):  # one loop serves both: it has seen the end of the other
        assert broker.get("/livez").status == 200
    proxy.release()
    wait_until(lambda: broker.get(path).status == 204, 30, "room for the next pop")
    waiting.socket.close()


def test_a_release_that_fails_is_tried_again(gated, postgres):
    proxy, broker = gated
    client = leave(broker, postgres)
    proxy.hold(b"append_returns")
    client.unlock()
    proxy.wait_held()
    assert leased(postgres)
    proxy.cut()
    proxy.release()
    assert [message["data"] for message in pop(broker, "&wait=true&timeout=20000")] == [1]


def test_a_lease_of_unknown_end_is_given_back(gated, postgres):
    """Its answer is lost, and so is the client that would have asked again."""
    proxy, broker = gated
    client = leave(broker, postgres)
    proxy.freeze(replies_only=True)
    client.unlock()
    wait_until(lambda: leased(postgres), 30, "the lease")
    proxy.cut()
    proxy.forward()
    assert [message["data"] for message in pop(broker, "&wait=true&timeout=20000")] == [1]


def test_an_answer_that_is_older_than_an_ack(gated, make_broker, postgres):
    """`held` is not believed when the lease it tells of has ended before it arrived."""
    proxy, broker = gated
    push(broker, 2)
    other = make_broker("--num-workers", "1", env=postgres.env()).start()
    first = pop(other, "&wait=true&timeout=20000")
    assert [message["data"] for message in first] == [1]
    proxy.hold_reply(b"load_lanes")
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        asking = threads.submit(pop, broker)
        proxy.wait_held()
        ack(broker, first[0])
        proxy.release()
        taken = asking.result(60) or pop(broker)
    assert [message["data"] for message in taken] == [2]
