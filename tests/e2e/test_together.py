"""Pops without `wait` that come together: none is answered 204 beside partitions that have messages and that
nobody holds. What another pop has claimed and leaves is there for the next one."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support.process import wait_until
from support.psql_session import PsqlSession


@pytest.fixture
def broker(two_brokers):
    return two_brokers[1]


def push(broker, queue, partitions, each):
    items = [{"queue": queue, "partition": f"p{partition}", "payload": number}
             for partition in range(partitions) for number in range(each)]
    assert broker.post("/api/v1/push", {"items": items}).status == 201


def pop_together(broker, path, count):
    with ThreadPoolExecutor(count) as pool:
        return [reply.status for reply in pool.map(lambda _: broker.get(path, timeout=60), range(count))]


@pytest.mark.parametrize("attempt", range(4))
def test_pops_of_a_family(broker, attempt):
    """Twenty partitions with a message each."""
    push(broker, f"family{attempt}.q", 20, 1)
    assert pop_together(broker, f"/api/v1/pop?namespace=family{attempt}&batch=1", 10) == [200] * 10


@pytest.mark.parametrize("attempt", range(4))
def test_pops_of_several_partitions(broker, attempt):
    """Each claims all of twenty partitions, and the first one fills its batch."""
    push(broker, f"several{attempt}", 20, 50)
    assert broker.get(f"/api/v1/pop/queue/several{attempt}?batch=1&autoAck=true").status == 200
    assert pop_together(broker, f"/api/v1/pop/queue/several{attempt}?batch=50&partitions=100", 8) == [200] * 8


def test_automatic_acks(broker):
    """One partition, which nobody ever holds. Many waves: a pop that comes in the moment in which another's
    claim ends takes what those behind the claim wait for."""
    push(broker, "auto", 1, 1000)
    assert broker.get("/api/v1/pop/queue/auto?autoAck=true").status == 200
    for _ in range(60):
        assert pop_together(broker, "/api/v1/pop/queue/auto?autoAck=true", 8) == [200] * 8


@pytest.mark.parametrize("queue, path", [("few.q", "/queue/few.q?"), ("rare.q", "?namespace=rare&")])
def test_fewer_messages_than_pops(broker, queue, path):
    """Whoever is left over is answered that there is nothing."""
    push(broker, queue, 3, 1)
    assert sorted(pop_together(broker, f"/api/v1/pop{path}batch=1&autoAck=true", 8)) == [200] * 3 + [204] * 5


@pytest.mark.parametrize("path", ["/queue/hangs.q?", "?namespace=hangs&"])
def test_a_claim_that_hangs(two_brokers, path):
    """A pop behind it is answered that there is nothing; the claim's own gets the message when it can be leased."""
    postgres, broker, _ = two_brokers
    push(broker, "hangs.q", 1, 1)
    with ThreadPoolExecutor(1) as pool:
        holder = PsqlSession(postgres)
        try:
            holder.run("BEGIN; LOCK TABLE queen.progress IN SHARE MODE")
            first = pool.submit(broker.get, "/api/v1/pop/queue/hangs.q?autoAck=true", timeout=60)
            wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", 60,
                       "a lease to hang")
            assert broker.get(f"/api/v1/pop{path}autoAck=true", timeout=60).status == 204
            assert not first.done()
        finally:
            holder.close()
        assert first.result().status == 200
