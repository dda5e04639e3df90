"""autoAck under trouble: what PostgreSQL has settled for a pop reaches its client, however late. Each test
counts the messages that were delivered and those that are settled."""

import concurrent.futures

import pytest

from chaos.stranger import Stranger
from proved.wire_proxy import WireProxy
from support.process import wait_until

QUEUES = ("auto.any", "auto.one", "family.a")
PATHS = ("/queue/auto.any?", "/queue/auto.one/partition/p?", "?namespace=family&")


def push(broker, queue, number=0):
    reply = broker.post("/api/v1/push", {"items": [{"queue": queue, "partition": "p", "payload": number}]})
    assert reply.status == 201, reply


def pop(broker, path, options=""):
    return broker.get(f"/api/v1/pop{path}autoAck=true{options}", timeout=60)


def numbers(reply):
    assert reply.status in (200, 204), reply
    return [message["data"] for message in reply.json()["messages"]] if reply.status == 200 else []


def settled(postgres, queue):
    """How many messages of the queue's partition are settled for the group of pops that name none."""
    return int(postgres.psql(f"""
        SELECT coalesce((SELECT r.cursor FROM queen.progress r JOIN queen.partitions p ON p.id = r.partition_id
        JOIN queen.queues q ON q.id = p.queue_id WHERE q.name = '{queue}' ORDER BY r.epoch DESC LIMIT 1), 0)"""))


def leases_in_the_way(postgres):
    """How many leases wait for the stranger's lock."""
    return int(postgres.psql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                             " AND query LIKE '%leases%append_lanes%'"))


@pytest.fixture
def pool():
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        yield threads


@pytest.fixture
def locked(postgres, closing):
    """locked() -> a session under whose lock no lease can be taken, until it is closed."""
    def lock():
        stranger = closing(Stranger(postgres))
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE queen.progress IN ACCESS EXCLUSIVE MODE")
        return stranger
    return lock


@pytest.mark.parametrize("workers", ["1", "3"])
def test_a_lease_slower_than_its_pop(make_broker, postgres, pool, locked, workers):
    """The wait of long polls ends while their leases are on their way: they are answered by the leases."""
    broker = make_broker("--num-workers", workers, "--sidecar-pool-size", "12", env=postgres.env()).start()
    for queue, path in zip(QUEUES, PATHS):
        push(broker, queue)
        assert numbers(pop(broker, path)) == [0]
    stranger = locked()
    pops = [pool.submit(pop, broker, path, "&wait=true&timeout=1500") for path in PATHS]
    for queue in QUEUES:
        push(broker, queue, 1)
    wait_until(lambda: leases_in_the_way(postgres) >= 1, 30, "the leases to be sent")
    # Longer than the others and their grace: whoever is answered by the clock is answered by then.
    assert broker.get("/api/v1/pop/queue/auto.nothing?wait=true&timeout=2500").status == 204
    stranger.close()
    delivered = [numbers(reply.result(60)) for reply in pops]
    assert [1 + len(messages) for messages in delivered] == [settled(postgres, queue) for queue in QUEUES]
    for queue, path, messages in zip(QUEUES, PATHS, delivered):
        assert messages == [1] or numbers(pop(broker, path)) == [1], queue


def test_the_broker_stops_meanwhile(make_broker, postgres, pool, locked):
    """A lease that is on its way at SIGTERM is waited for, and its messages are delivered."""
    broker = make_broker("--num-workers", "1", env=postgres.env()).start()
    push(broker, QUEUES[0])
    assert numbers(pop(broker, PATHS[0])) == [0]
    push(broker, QUEUES[0], 1)
    stranger = locked()
    waiting = pool.submit(pop, broker, PATHS[0])
    wait_until(lambda: leases_in_the_way(postgres) == 1, 30, "the lease to be sent")
    stopped = pool.submit(broker.stop)
    wait_until(lambda: broker.try_get("/livez") is None, 30, "the broker to take no more connections")
    stranger.close()
    assert numbers(waiting.result(60)) == [1]
    assert stopped.result(60) == 0
    assert settled(postgres, QUEUES[0]) == 2


def test_the_messages_cannot_be_read_at_first(make_broker, postgres, closing, pool):
    """Settled, but every connection is lost before the messages were read: they are read when it is back."""
    proxy = closing(WireProxy(postgres.host, postgres.port))
    pushing = make_broker("--num-workers", "1", env=postgres.env()).start()
    broker = make_broker("--num-workers", "1", env=postgres.env(proxy.host, proxy.port)).start()
    push(pushing, QUEUES[0])  # so that they are not in the memory of the broker that delivers
    proxy.hold(b"pop_sm_fetch")
    waiting = pool.submit(pop, broker, PATHS[0])
    proxy.wait_held()
    assert settled(postgres, QUEUES[0]) == 1
    proxy.cut()
    proxy.release()
    assert numbers(waiting.result(60)) == [0]


@pytest.mark.parametrize("wait", ["", "&wait=true&timeout=5000"], ids=["at-once", "waiting"])
def test_what_may_be_settled_unseen_is_said(make_broker, make_proxy, postgres, wait):
    """The connection breaks after the lease was committed and before its reply came."""
    proxy = make_proxy(postgres.host, postgres.port)
    broker = make_broker("--num-workers", "1", env=postgres.env(proxy.host, proxy.port)).start()
    for number, (queue, path) in enumerate(zip(QUEUES, PATHS), start=1):
        push(broker, queue)
        assert numbers(pop(broker, path)) == [0]
        push(broker, queue, 1)
        push(broker, queue, 2)
        proxy.cut_reply(b"append_leases")
        reply = pop(broker, path, wait)
        assert proxy.replies_cut() == number
        assert settled(postgres, queue) == 2
        assert (reply.status, reply.json()["code"]) == (503, "outcome_unknown")
        wait_until(lambda: broker.get("/readyz").status == 200, 60, "the connections")
