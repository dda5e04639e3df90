"""Names that are new: queues, partitions and groups are made at their first use. Making them ends by itself, and
nobody who uses names that are there waits for it. What a broker knew of a group is forgotten when nobody pops it."""

import concurrent.futures
import socket

import pytest

from support.acks import ack_of
from support.process import wait_until
from support.psql_session import PsqlSession

GROUPS = 10
POPS = 160
ROUNDS = 4
PARTITIONS = 40
NEW = 6  # of each kind


def item(queue, partition, payload=1):
    return {"queue": queue, "partition": partition, "payload": payload}


def push(broker, *items):
    return broker.post("/api/v1/push", {"items": list(items)}, timeout=60)


def transaction(broker, *items):
    return broker.post("/api/v1/transaction", {"operations": [{"type": "push", "items": list(items)}]}, timeout=60)


# ---- many at once


class SentPop:
    """A pop of a group's first message that has left; `status` waits for its answer."""

    def __init__(self, broker, queue, group):
        self.queue = queue
        self._socket = socket.create_connection((broker.host, broker.port), 60)
        self._socket.sendall(f"GET /api/v1/pop/queue/{queue}?consumerGroup={group}&autoAck=true&subscriptionMode=all "
                             "HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())

    def status(self):
        with self._socket as connection:
            return int(connection.recv(65536).split()[1])


def test_first_pops_of_many_groups_do_not_wait_for_each_other(make_postgres, make_broker):
    """Their groups are made all at once, when a lock that holds up the first is let go. Whoever is answered that
    there is nothing, beside a full backlog, was the victim of a deadlock."""
    postgres = make_postgres({"deadlock_timeout": "50ms"})
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    assert push(broker, *(item("many", f"p{n % PARTITIONS}", n) for n in range(PARTITIONS * POPS))).status == 201
    for turn in range(ROUNDS):
        holder = PsqlSession(postgres)
        holder.run("BEGIN; LOCK TABLE queen.groups, queen.early_groups IN SHARE MODE")
        groups = [f"g{turn}.{n * (1, 3, 7, 9)[n // GROUPS % 4] % GROUPS}" for n in range(POPS)]  # in several orders
        # One queue is not there: of its groups the start is noted.
        pops = [SentPop(broker, queue, group) for group in groups for queue in ("many", "none")]
        wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", 60, "a call to hang")
        holder.close()
        answers = [(pop.queue, pop.status()) for pop in pops]
        assert sorted(set(answers)) == [("many", 200), ("none", 204)], sorted(answers)
    assert "deadlock detected" not in postgres.log()
    assert broker.stop() == 0
    wait_until(lambda: not postgres.backends(), what="the connections to end, and their counts to be told")
    assert postgres.psql("SELECT deadlocks FROM pg_stat_database WHERE datname = 'queen'", "postgres", "postgres") == "0"
    assert postgres.psql("SELECT count(*) FROM queen.groups") == str(ROUNDS * GROUPS)
    assert postgres.psql("SELECT count(*) FROM queen.early_groups") == str(ROUNDS * GROUPS)


# ---- while naming hangs


@pytest.fixture
def hanging(postgres, make_broker):
    """(broker, let_go): names that are there, and very many calls that hang because they make new ones."""
    broker = make_broker("--num-workers", "1", env=dict(
        postgres.env(), DB_LOCK_TIMEOUT="600000", DB_STATEMENT_TIMEOUT="600000", DB_IN_FLIGHT_DEADLINE_MS="900000")).start()
    assert push(broker, item("known", "a"), item("known", "b")).status == 201
    assert broker.get("/api/v1/pop/queue/known?consumerGroup=g").status == 200
    # known to PostgreSQL, and not yet to this broker
    postgres.psql("SELECT queen.ensure_partitions(ARRAY['known', 'stored'], ARRAY['c', 'a']);"
                  "SELECT queen.push('stored', '1', 'a'); SELECT queen.ensure_group('stored', 'g', 'all', NULL)")
    holder = PsqlSession(postgres)
    holder.run("BEGIN; LOCK TABLE queen.queues, queen.partitions, queen.groups, queen.early_groups IN SHARE MODE")
    pool = concurrent.futures.ThreadPoolExecutor(4 * NEW)
    new = [pool.submit(call, broker, n) for n in range(NEW) for call in (
        lambda broker, n: push(broker, item("known", f"new{n}")),
        lambda broker, n: push(broker, item(f"new{n}", "a")),
        lambda broker, n: transaction(broker, item("known", f"newer{n}")),
        lambda broker, n: broker.get(f"/api/v1/pop/queue/known/partition/b?consumerGroup=new{n}&subscriptionMode=all", timeout=60))]
    wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", 60, "a call to hang")

    def let_go():
        assert not any(call.done() for call in new)
        holder.close()
        return [call.result().status for call in new]
    try:
        yield broker, let_go
    finally:
        holder.close()
        pool.shutdown()


def test_names_that_are_there_do_not_wait_for_new_ones(hanging):
    broker, let_go = hanging
    for turn in range(3):
        pushed = push(broker, item("known", "a", turn), item("known", "c", turn)).json()
        assert [outcome["status"] for outcome in pushed] == ["queued"] * 2, pushed
        assert transaction(broker, item("known", "a", turn), item("stored", "a", turn)).json()["success"]
        for queue in ("known", "stored"):
            reply = broker.get(f"/api/v1/pop/queue/{queue}?consumerGroup=g&batch=10&wait=true&timeout=20000")
            assert reply.status == 200, (queue, turn, reply)
            acks = [ack_of(message, consumerGroup="g") for message in reply.json()["messages"]]
            answers = broker.post("/api/v1/ack/batch", {"acknowledgments": acks, "consumerGroup": "g"}).json()
            assert all(answer["success"] for answer in answers), answers
    assert sorted(set(let_go())) == [200, 201]


# ---- groups that nobody pops


def test_an_idle_group_is_forgotten_and_nothing_of_it_is_lost(make_postgres, make_broker):
    """Neither a waiter, nor a lease, nor what was pushed meanwhile."""
    postgres = make_postgres({"track_functions": "all"})
    broker = make_broker("--num-workers", "1", env=dict(postgres.env(), POP_IDLE_GROUPS_MAX="0")).start()
    for partition in ("a", "b"):
        assert push(broker, item("idle", partition, partition)).status == 201

    def pop(group, **more):
        more = "".join(f"&{name}={value}" for name, value in more.items())
        return broker.get(f"/api/v1/pop/queue/idle?consumerGroup={group}&subscriptionMode=all{more}", timeout=60)

    def look_ups():
        return int(postgres.psql("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname = 'find_pop_names'"))
    leased = pop("leasing").json()["messages"][0]
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert {pop("waiting", autoAck="true").json()["messages"][0]["data"] for _ in range(2)} == {"a", "b"}
        waiter = pool.submit(pop, "waiting", wait="true", timeout=60000)
        # This group is known after its first pop, and looked up again when it has been forgotten: then the others
        # that nobody pops have been too.
        assert pop("other", autoAck="true").status == 200
        before = look_ups()
        wait_until(lambda: pop("other") and look_ups() > before + 1, 60, "the group to be forgotten")
        assert not waiter.done()
        other = pop("leasing").json()["messages"][0]
        assert {leased["data"], other["data"]} == {"a", "b"}
        assert pop("leasing").status == 204
        assert push(broker, item("idle", leased["partition"], "later")).status == 201
        assert waiter.result().json()["messages"][0]["data"] == "later"
    assert pop("leasing").status == 204
    assert broker.post("/api/v1/ack", ack_of(leased, consumerGroup="leasing")).json()[0]["success"]
    assert pop("leasing").json()["messages"][0]["data"] == "later"
