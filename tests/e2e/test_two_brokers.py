"""Two brokers on one database: whatever makes a partition ready through one of them, or through SQL, is
seen by the next pop through the other, whose ring was empty and complete before (pitfalls: Stranding)."""

import re
import threading
import time

import pytest

from support.acks import ack_of
from support.leaving_client import LeavingClient
from support.process import wait_until
from support.psql_session import PsqlSession


class Pair:
    """`here` pops, `there` does something; the queue is the test's own."""

    def __init__(self, postgres, here, there, queue):
        self.postgres, self.here, self.there, self.queue = postgres, here, there, queue

    def push(self, *payloads, broker=None, partition="Default"):
        reply = (broker or self.there).post("/api/v1/push", {"items": [
            {"queue": self.queue, "partition": partition, "payload": payload} for payload in payloads]})
        assert reply.status == 201, reply

    def pop(self, broker=None, **options):
        query = "&".join(f"{name}={value}" for name, value in ({"consumerGroup": "g"} | options).items())
        reply = (broker or self.here).get(f"/api/v1/pop/queue/{self.queue}?{query}")
        assert reply.status in (200, 204), reply
        return reply.json()["messages"] if reply.status == 200 else []

    def data(self, **options):
        return [message["data"] for message in self.pop(**options)]

    def ack(self, message, status="completed"):
        reply = self.there.post("/api/v1/ack", ack_of(message, status, consumerGroup="g"))
        assert reply.status == 200 and reply.json()[0]["success"], reply

    def configure(self, **options):
        assert self.there.post("/api/v1/configure", {"queue": self.queue, "options": options}).status == 200

    def calls(self, function):
        return int(self.postgres.psql("SELECT coalesce(sum(calls), 0) FROM pg_stat_user_functions "
                                      f"WHERE schemaname = 'queen' AND funcname = '{function}'"))

    def lease_calls(self):
        """Also of leases that came to nothing; with them acks, where there are any."""
        return self.calls("load_lanes") + self.calls("append_lanes")

    def tail_reads(self):
        return int(self.postgres.psql("SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'batches_xid'"))


@pytest.fixture
def pair(two_brokers, request):
    return Pair(*two_brokers, re.sub(r"\W", "-", request.node.name))


def test_a_push(pair):
    pair.push("old", broker=pair.here)
    assert pair.data(autoAck="true") == ["old"]
    for number in range(20):
        assert pair.data(autoAck="true") == []
        pair.push(number, partition=f"p{number % 3}")
        assert pair.data(autoAck="true") == [number]


def test_a_push_in_sql(pair):
    pair.push("old", broker=pair.here)
    assert pair.data(autoAck="true") == ["old"] and pair.data() == []
    pair.postgres.psql(f"SELECT queen.push('{pair.queue}', '\"new\"', 'elsewhere')")
    assert pair.data() == ["new"]


def test_a_push_in_sql_that_began_long_before_it_committed(pair):
    pair.push("old", broker=pair.here)
    session = PsqlSession(pair.postgres)
    try:
        session.run(f"BEGIN; SELECT queen.push('{pair.queue}', '\"late\"', 'elsewhere')")
        assert pair.data(autoAck="true") == ["old"] and pair.data() == []
        for number in range(50):  # reads whose snapshots all have it in flight
            pair.push(number)
            assert pair.data(autoAck="true") == [number]
        session.run("COMMIT")
    finally:
        session.close()
    assert pair.data() == ["late"]


def test_a_transaction(pair):
    pair.push("old", "older", broker=pair.here)
    first = pair.pop(broker=pair.there)[0]
    assert pair.pop() == []  # held there
    reply = pair.there.post("/api/v1/transaction", {"operations": [
        {"type": "ack", "transactionId": first["transactionId"], "partitionId": first["partitionId"],
         "leaseId": first["leaseId"], "consumerGroup": "g"},
        {"type": "push", "items": [{"queue": pair.queue, "partition": "other", "payload": "new"}]}]})
    assert reply.status == 200 and reply.json()["success"], reply
    assert sorted(pair.data(autoAck="true") + pair.data(autoAck="true")) == ["new", "older"]


def test_an_ack_that_leaves_something(pair):
    pair.push(1, 2, broker=pair.here)
    first = pair.pop(broker=pair.there)[0]
    assert pair.pop() == []
    pair.ack(first)
    assert pair.data() == [2]


def test_a_failure_that_is_delivered_again(pair):
    pair.push(1, broker=pair.here)
    first = pair.pop(broker=pair.there)[0]
    assert pair.pop() == []
    pair.ack(first, "failed")
    assert pair.data() == [1]


def test_a_lease_that_was_given_back(pair):
    """By the other broker, because its client has gone."""
    pair.push(1, broker=pair.here)
    client = LeavingClient(pair.there, pair.postgres, f"/api/v1/pop/queue/{pair.queue}?consumerGroup=g")
    client.unlock()
    assert pair.data(wait="true", timeout=60_000) == [1]


def test_a_push_here_behind_a_lease_that_ended_there(pair):
    """The hold is stale when the push comes; the reads leave out what this broker wrote itself."""
    pair.push(0, broker=pair.here)
    assert pair.data(autoAck="true") == [0]
    pair.push(1, broker=pair.here)
    first = pair.pop(broker=pair.there)[0]
    assert pair.pop() == []
    pair.ack(first)
    assert pair.pop() == []
    pair.push(2, broker=pair.here)
    assert pair.data() == [2]


def test_a_seek(pair):
    pair.push(1, 2, broker=pair.here)
    assert pair.data(batch=9, autoAck="true") == [1, 2] and pair.pop() == []
    assert pair.there.post(f"/api/v1/consumer-groups/g/queues/{pair.queue}/seek", {"offset": 1}).status == 200
    assert pair.data() == [2]


@pytest.mark.parametrize("metadata", ["true", "false"])
def test_a_deleted_group(pair, metadata):
    pair.push(1, broker=pair.here)
    assert pair.data(autoAck="true") == [1] and pair.pop() == []
    reply = pair.there.request(
        "DELETE", f"/api/v1/consumer-groups/g/queues/{pair.queue}?deleteMetadata={metadata}")
    assert reply.status == 200, reply
    assert pair.data() == [1]


def test_an_ack_where_the_message_was_delivered_to_the_group_before(pair):
    pair.push("m")
    assert len(pair.pop(broker=pair.there)) == 1  # which remembers what it has delivered
    path = f"/api/v1/consumer-groups/g/queues/{pair.queue}"
    assert pair.here.request("DELETE", path).status == 200
    [message] = pair.pop()
    pair.ack(message)
    assert pair.pop() == []


def test_a_changed_subscription(pair):
    pair.push(1, broker=pair.here)
    name = f"g-{pair.queue}"
    assert pair.pop(consumerGroup=name, subscriptionMode="new") == []
    reply = pair.there.post(f"/api/v1/consumer-groups/{name}/subscription",
                            {"subscriptionTimestamp": "2020-01-01T00:00:00Z"})
    assert reply.status == 200, reply
    assert pair.data(consumerGroup=name) == [1]


def test_a_changed_option(pair):
    pair.configure(delayedProcessing=600)
    pair.push(1, broker=pair.here)
    assert pair.pop() == []
    pair.configure(delayedProcessing=0)
    assert pair.data() == [1]


def test_a_queue_deleted_and_made_again(pair):
    pair.push(1, broker=pair.here)
    assert pair.data(autoAck="true") == [1] and pair.pop() == []
    assert pair.there.request("DELETE", f"/api/v1/resources/queues/{pair.queue}").status == 200
    pair.push(2)
    assert pair.data() == [2]


def test_more_than_a_read_tells(pair):
    pair.push("old", broker=pair.here)
    assert pair.data(autoAck="true") == ["old"] and pair.pop() == []
    pair.postgres.psql(f"SELECT queen.push('{pair.queue}', '\"new\"', 'elsewhere'); "
                       "SELECT count(queen.announce(ARRAY[2000000000])) FROM generate_series(1, 20000)")
    assert pair.data() == ["new"]


def test_a_push_while_this_broker_has_no_connection(pair):
    pair.push("old", broker=pair.here)
    assert pair.data(autoAck="true") == ["old"] and pair.pop() == []
    for number in range(3):
        pair.postgres.terminate_backends()
        wait_until(lambda: pair.there.post("/api/v1/push", {"items": [
            {"queue": pair.queue, "partition": f"p{number}", "payload": number}]}).status == 201)
        path = f"/api/v1/pop/queue/{pair.queue}?consumerGroup=g&autoAck=true"
        wait_until(lambda: pair.here.get("/health").status == 200)
        while (reply := pair.here.get(path)).status == 503:
            time.sleep(0.05)
        assert [message["data"] for message in reply.json()["messages"]] == [number]


def test_what_only_time_makes_ready(pair):
    """Nothing is written when a lease expires or a delay is over: the time was learned before."""
    pair.push(1, broker=pair.here)
    assert pair.pop(broker=pair.there, leaseTime=1) and pair.pop() == []
    assert pair.data(wait="true", timeout=30000, leaseTime=300) == [1]

    pair.configure(delayedProcessing=1)
    pair.push(2, partition="delayed")
    assert pair.pop() == []
    assert pair.data(wait="true", timeout=30000) == [2]

    pair.configure(delayedProcessing=0, retryDelay=700)
    pair.push(3, partition="retried")
    pair.ack(pair.pop(broker=pair.there)[0], "failed")
    assert pair.pop() == []
    assert pair.data(wait="true", timeout=30000) == [3]

    pair.configure(windowBuffer=1)
    pair.push(4, partition="window")
    assert pair.pop() == []
    assert pair.data(wait="true", timeout=30000) == [4]


@pytest.mark.parametrize("where", ["", "/partition/p"])
def test_a_waiter_hears_of_what_happens_elsewhere(pair, where):
    pair.push(0, partition="p")
    path = f"/api/v1/pop/queue/{pair.queue}{where}?consumerGroup=g&autoAck=true&wait=true&timeout=30000"
    assert pair.here.get(path).status == 200
    got = []
    waiter = threading.Thread(target=lambda: got.append(pair.here.get(path, timeout=40)))
    waiter.start()
    time.sleep(2)  # long enough that the checks have backed off to the light one
    pair.push(1, partition="p")
    waiter.join()
    assert [message["data"] for message in got[0].json()["messages"]] == [1]


def test_those_who_wait_for_one_partition_are_asked_about_together(pair):
    """50 waiters, checked about ten times each, in one call a time; the short intervals at first lease."""
    pair.push(*range(50), broker=pair.here)
    for number in range(50):
        pair.push(number, broker=pair.here, partition=f"p{number}")
    paths = [f"/api/v1/pop/queue/{pair.queue}/partition/p{number}?consumerGroup=g&autoAck=true" for number in range(50)]
    for path in paths:
        assert pair.here.get(path).status == 200
    checks, leases = pair.calls("has_pending_messages"), pair.lease_calls()
    waiters = [threading.Thread(target=pair.here.get, args=(path + "&wait=true&timeout=8000",), kwargs={"timeout": 30})
               for path in paths]
    for waiter in waiters:
        waiter.start()
    for waiter in waiters:
        waiter.join()
    wait_until(lambda: pair.calls("has_pending_messages") >= checks + 3, what="the statistics")
    assert pair.calls("has_pending_messages") - checks < 50
    assert pair.lease_calls() - leases < 250


def test_an_empty_pop_costs_the_same_with_20000_partitions(pair):
    """By counts of index scans, which come with the statistics a while later."""
    def scans():
        return int(pair.postgres.psql("SELECT sum(idx_scan) FROM pg_stat_user_tables WHERE schemaname = 'queen' "
                                      "AND relname IN ('partitions', 'segments', 'progress')"))

    pair.push(0, broker=pair.here)
    pair.postgres.psql(f"""
        INSERT INTO queen.partitions (queue_id, name)
        SELECT id, 'p' || i FROM queen.queues, generate_series(1, 20000) i WHERE name = '{pair.queue}';
        INSERT INTO queen.segments (partition_id, base_seq, count, created_at, payloads)
        SELECT p.id, 0, 1, now(), '1' FROM queen.partitions p JOIN queen.queues q ON q.id = p.queue_id
        WHERE q.name = '{pair.queue}' AND p.name LIKE 'p%'""")
    assert pair.pop(subscriptionMode="new") == []
    resolves, tails, before = pair.calls("pop_sm_resolve"), pair.tail_reads(), scans()
    for _ in range(100):
        assert pair.pop() == []
    wait_until(lambda: pair.tail_reads() >= tails + 100, what="the statistics")
    # The first use and the background resolve are pages too; a round for each pop would be 2,000.
    assert pair.calls("pop_sm_resolve") - resolves < 100
    assert scans() - before < 10 * 20_000, "a few looks at each partition, not one for each pop"
    pair.push("new", partition="p7777")
    assert pair.data() == ["new"]


def test_the_first_use_of_100000_partitions_holds_up_nobody_else(pair):
    pair.push(0, broker=pair.here)
    pair.postgres.psql(f"""
        INSERT INTO queen.partitions (queue_id, name)
        SELECT id, 'p' || i FROM queen.queues, generate_series(1, 100000) i WHERE name = '{pair.queue}'""")
    pair.push("last", partition="behind")
    # in either order: lanes have none between them
    assert {*pair.data(autoAck="true"), *pair.data(autoAck="true")} == {0, "last"}
    big = pair.queue
    found = []
    first = threading.Thread(target=lambda: found.append(
        pair.there.get(f"/api/v1/pop/queue/{big}?consumerGroup=first&batch=9", timeout=60)))
    # A group whose only message is in the last partition: found at the end of the round.
    pair.postgres.psql(f"SELECT queen.ensure_group('{big}', 'first', 'new', NULL)")
    pair.push("found", broker=pair.here, partition="behind")
    pair.queue = big + "-other"
    first.start()
    others = 0
    while first.is_alive():
        pair.push(others)
        assert pair.data(broker=pair.there, autoAck="true") == [others]
        others += 1
    assert [message["data"] for message in found[0].json()["messages"]] == ["found"]
    assert others >= 5
