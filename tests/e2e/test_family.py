"""Pops by namespace and/or task: the group's start is that of the whole family, waiting costs memory only,
and the queues of a family take turns (api 1, 2.1, 2.2)."""

import collections
import re
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support.process import wait_until

WAIT = {"wait": "true", "timeout": 40000}
MANY = 100


class Family:
    """The namespace is the test's own; `here` pops, `there` is another broker on the same database."""

    def __init__(self, postgres, here, there, name):
        self.postgres, self.here, self.there, self.name = postgres, here, there, name

    def queue(self, name):
        return f"{self.name}.{name}"

    def push(self, name, *payloads, broker=None, partition="Default"):
        reply = (broker or self.here).post("/api/v1/push", {"items": [
            {"queue": self.queue(name), "partition": partition, "payload": payload} for payload in payloads]})
        assert reply.status == 201 and all(item["status"] == "queued" for item in reply.json()), reply

    def get(self, broker=None, **options):
        options = {"namespace": self.name, "consumerGroup": "g", "autoAck": "true"} | options
        query = "&".join(f"{name}={value}" for name, value in options.items() if value is not None)
        reply = (broker or self.here).get(f"/api/v1/pop?{query}", timeout=60)
        assert reply.status in (200, 204), reply
        return reply

    def pop(self, **options):
        reply = self.get(**options)
        return reply.json() if reply.status == 200 else None

    def data(self, **options):
        popped = self.pop(**options)
        return [message["data"] for message in popped["messages"]] if popped else []

    def drain(self, **options):
        found = []
        while got := self.data(**options):
            found += got
        return sorted(found)

    def configure(self, name, broker=None, namespace=None, **options):
        reply = (broker or self.here).post("/api/v1/configure", {
            "queue": self.queue(name), "namespace": namespace, "options": options})
        assert reply.status == 200, reply

    def recorded(self, group="g"):
        return self.postgres.psql("SELECT count(*) FROM queen.families "
                                  f"WHERE namespace = '{self.name}' AND group_name = '{group}'") == "1"

    def waiter(self, pool, **options):
        """A pop that waits, once the family knows of its group."""
        pending = pool.submit(self.data, **(WAIT | options))
        wait_until(self.recorded, what="the group's first pop to be recorded")
        return pending

    # The ways a queue is born with one message in it.

    def born_by_a_push(self, name):
        self.push(name, "first")

    def born_by_a_push_elsewhere(self, name):
        self.push(name, "first", broker=self.there)

    def born_by_a_transaction(self, name):
        reply = self.here.post("/api/v1/transaction", {"operations": [
            {"type": "push", "items": [{"queue": self.queue(name), "payload": "first"}]}]})
        assert reply.status == 200 and reply.json()["success"], reply

    def born_in_sql(self, name):
        self.postgres.psql(f"SELECT queen.push('{self.queue(name)}', '\"first\"')")

    def born_by_configure(self, name):
        self.configure(name, namespace=self.name)
        self.push(name, "first")

    def born_by_configure_elsewhere(self, name):
        self.configure(name, namespace=self.name, broker=self.there)
        self.push(name, "first", broker=self.there)


BIRTHS = [getattr(Family, name) for name in dir(Family) if name.startswith("born_")]


@pytest.fixture
def family(two_brokers, request):
    return Family(*two_brokers, re.sub(r"\W", "-", request.node.name))


@pytest.fixture
def pool():
    with ThreadPoolExecutor(MANY) as executor:
        yield executor


# ---- the start

@pytest.mark.parametrize("born", BIRTHS, ids=lambda birth: birth.__name__)
def test_new_reads_a_queue_born_later_from_its_start(family, born):
    assert family.data(subscriptionMode="new") == []
    born(family, "late")
    assert family.data() == ["first"], "a later pop may omit the mode"
    born(family, "later")
    assert family.data(subscriptionMode="new") == ["first"], "or repeat it"
    assert family.data() == []


def test_new_records_the_positions_of_every_queue_at_the_first_pop(family):
    for name in "abc":
        family.push(name, f"old {name}")
    assert family.data(subscriptionMode="new") == []
    for name in "abc":
        family.push(name, f"new {name}")
    assert family.drain() == ["new a", "new b", "new c"]
    assert family.drain(consumerGroup="all") == sorted(f"{age} {name}" for age in ("old", "new") for name in "abc")


def test_now_and_a_time_are_recorded_too(family):
    family.push("a", "old")
    assert family.data(subscriptionFrom="now") == []
    assert family.data(consumerGroup="t", subscriptionFrom="2099-01-01") == []
    family.push("b", "new")
    assert family.data() == ["new"]
    assert family.data(consumerGroup="t") == []


def test_a_queue_deleted_and_made_again_counts_as_born_later(family):
    family.push("a", "old")
    assert family.data(subscriptionMode="new") == []
    assert family.there.request("DELETE", f"/api/v1/resources/queues/{family.queue('a')}").status == 200
    family.push("a", "new", broker=family.there)
    assert family.data() == ["new"]


def test_the_record_is_shared_by_brokers(family):
    assert family.data(subscriptionMode="new", broker=family.there) == []
    family.push("a", "first")
    assert family.data(subscriptionMode="new") == ["first"]


def test_a_group_that_was_deleted_decides_anew(family):
    assert family.data(subscriptionMode="new") == []
    family.push("a", 1)
    assert family.there.request("DELETE", "/api/v1/consumer-groups/g").status == 200
    assert family.data(subscriptionMode="new") == []
    family.push("a", 2)
    family.push("b", 3)
    assert family.drain() == [2, 3]


def test_a_client_that_leaves_does_not_make_its_group_start_elsewhere(family):
    family.push("a", "old")
    for number in range(40):
        with socket.create_connection((family.here.host, family.here.port), 30) as client:
            client.sendall(f"GET /api/v1/pop?namespace={family.name}&consumerGroup=left-{number}&subscriptionMode=new"
                           "&wait=true HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # reset, at once
    for number in range(40):
        assert family.data(consumerGroup=f"left-{number}", subscriptionMode="new") == []


def test_by_task(family):
    for number in range(3):
        reply = family.here.post("/api/v1/push", {"items": [{"queue": f"ns{number}.{family.name}", "payload": number}]})
        assert reply.status == 201
    assert family.drain(namespace=None, task=family.name) == [0, 1, 2]
    assert family.drain(namespace="ns1", task=family.name, consumerGroup="h") == [1]


# ---- waiting

@pytest.mark.parametrize("born", BIRTHS, ids=lambda birth: birth.__name__)
def test_a_waiter_hears_of_a_queue_born_later(family, pool, born):
    waiter = family.waiter(pool, subscriptionMode="new")
    born(family, "late")
    assert waiter.result() == ["first"]


@pytest.mark.parametrize("broker", ["here", "there"])
def test_a_waiter_hears_of_a_push(family, pool, broker):
    for name in "abc":
        family.push(name, "old")
    waiter = family.waiter(pool, subscriptionMode="new")
    family.push("b", "new", broker=getattr(family, broker))
    assert waiter.result() == ["new"]


def test_a_waiter_hears_of_an_ack(family, pool):
    family.push("a", 1, 2)
    held = family.pop(autoAck="false")["messages"][0]
    waiter = family.waiter(pool)
    reply = family.here.post("/api/v1/ack", {"transactionId": held["transactionId"], "partitionId": held["partitionId"],
                                             "leaseId": held["leaseId"], "consumerGroup": "g"})
    assert reply.json()[0]["success"], reply
    assert waiter.result() == [2]


@pytest.mark.parametrize("broker", ["here", "there"])
def test_a_waiter_hears_of_a_lease_that_has_expired(family, pool, broker):
    family.push("a", 1)
    assert family.data(autoAck="false", leaseTime=1, broker=getattr(family, broker)) == [1]
    assert family.waiter(pool).result() == [1]


def test_a_waiter_hears_of_a_delay_that_is_over(family, pool):
    family.configure("a", namespace=family.name, delayedProcessing=1)
    family.push("a", 1)
    assert family.waiter(pool).result() == [1]


def test_each_of_many_waiters_gets_one(family, pool):
    for number in range(10):
        family.push(str(number), "old")
    assert family.data(subscriptionMode="new") == []
    waiters = [pool.submit(family.data, **WAIT) for _ in range(60)]
    for number in range(60):
        family.push(str(number % 12), number, partition=f"p{number % 5}", broker=(family.here, family.there)[number % 2])
    assert sorted(data for waiter in waiters for data in waiter.result()) == list(range(60))


def test_the_wait_ends_at_its_timeout(family):
    family.push("a", 1)
    assert family.data(wait="true", timeout=20000) == [1]
    assert family.data(wait="true", timeout=300) == []


def test_a_waiter_that_has_gone_is_forgotten(family, pool):
    with socket.create_connection((family.here.host, family.here.port)) as client:
        client.sendall(f"GET /api/v1/pop?namespace={family.name}&consumerGroup=g&wait=true HTTP/1.1\r\n"
                       "Host: x\r\n\r\n".encode())
        wait_until(family.recorded, what="it to wait")
    other = family.waiter(pool, autoAck="false")  # comes after the other has gone
    family.push("a", 1)
    assert other.result() == [1]


def transactions(postgres):
    return int(postgres.psql("SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = 'queen'"))


def cost_of_waiting(broker, postgres, path, seconds=8):
    """How many transactions there are while MANY pops wait."""
    with ThreadPoolExecutor(MANY) as pool:
        waiters = [pool.submit(broker.get, f"{path}&consumerGroup=w&wait=true&timeout={(seconds + 6) * 1000}", timeout=60)
                   for _ in range(MANY)]
        time.sleep(3)  # they have come, and their intervals have grown
        before = transactions(postgres)
        time.sleep(seconds)
        cost = transactions(postgres) - before
        assert all(waiter.result().status == 204 for waiter in waiters)
    return cost


def test_waiting_for_twenty_queues_costs_about_as_much_as_for_one(make_broker, postgres):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    for number in range(20):
        assert broker.post("/api/v1/push", {"items": [{"queue": f"idle.{number}", "payload": 1}]}).status == 201
        assert broker.get(f"/api/v1/pop/queue/idle.{number}?consumerGroup=w&autoAck=true").status == 200
    one = cost_of_waiting(broker, postgres, "/api/v1/pop/queue/idle.0?a=b")
    twenty = cost_of_waiting(broker, postgres, "/api/v1/pop?namespace=idle")
    print(f"transactions while {MANY} wait: for one queue {one}, for a family of twenty {twenty}")
    assert twenty <= 2 * one + 20


def test_a_push_to_a_queue_that_is_there_does_not_look_at_families(family, pool):
    family.push("a", "old")
    assert family.drain() == ["old"]

    def calls():
        return int(family.postgres.psql("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions WHERE funcname IN "
                                        "('find_family', 'join_families', 'ensure_group')"))
    before = wait_until_steady(calls)
    for number in range(50):
        family.push("a", number)
    assert family.drain() == list(range(50))
    assert wait_until_steady(calls) == before


def wait_until_steady(number):
    """Statistics arrive late: what `number` says when it has not changed for two seconds."""
    last, since = number(), time.monotonic()
    while time.monotonic() - since < 2:
        time.sleep(0.2)
        if (now := number()) != last:
            last, since = now, time.monotonic()
    return last


# ---- the order of queues

def test_queues_of_equal_priority_take_turns(family):
    for name in "abcd":
        for number in range(5):
            family.push(name, number, partition=str(number))
    served = [family.pop()["queue"] for _ in range(20)]
    assert collections.Counter(served) == {family.queue(name): 5 for name in "abcd"}
    for turn in range(0, 20, 4):
        assert len(set(served[turn:turn + 4])) == 4, served


@pytest.mark.parametrize("broker", ["here", "there"])
def test_the_highest_priority_is_served_first(family, broker):
    broker = getattr(family, broker)
    for name, priority in (("a", 0), ("b", 5), ("c", 9), ("d", 5)):
        family.configure(name, namespace=family.name, priority=priority, broker=broker)
    for number in range(3):
        for name in "abcd":
            family.push(name, name, broker=broker)
    served = [family.data()[0] for _ in range(9)]
    assert "".join(served[:3]) == "ccc" and sorted(served[3:]) == list("bbbddd") and served[3] != served[4]
    family.push("c", "c", broker=broker)
    assert family.data() == ["c"], "it has something again"
    assert [family.data()[0] for _ in range(3)] == ["a", "a", "a"]


def test_a_changed_priority_counts_at_once(family):
    for name in "ab":
        family.configure(name, namespace=family.name)
        family.push(name, name, name)
    family.configure("b", priority=1)
    assert [family.data()[0] for _ in range(2)] == ["b", "b"]
    family.push("b", "b")
    family.configure("b", priority=0)
    family.configure("a", priority=1)
    assert [family.data()[0] for _ in range(3)] == ["a", "a", "b"]


def test_waiters_survive_a_restart_of_the_database(make_broker, postgres, pool):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    assert broker.post("/api/v1/push", {"items": [{"queue": "db.a", "payload": 1}]}).status == 201
    assert broker.get("/api/v1/pop?namespace=db&autoAck=true").status == 200
    waiters = [pool.submit(broker.get, "/api/v1/pop?namespace=db&autoAck=true&wait=true&timeout=60000", timeout=90)
               for _ in range(2)]
    postgres.restart()
    broker.wait_for("/health", 200)
    postgres.psql("SELECT queen.push('db.a', '2'), queen.push('db.b', '3')")
    assert sorted(waiter.result().json()["messages"][0]["data"] for waiter in waiters) == [2, 3]
