"""A commit whose wait for the synchronous standby was cancelled: nothing is answered before the standby
has it, and then it is answered once and stored once.

PostgreSQL commits such a transaction on the primary with no more than a warning. Here the standby is stopped,
so that every commit waits, and the waits are cancelled as an operator would cancel a query that hangs.
"""

import contextlib
import threading

import pytest

from chaos.stranger import Stranger
from support.acks import ack_of
from support.broker import Broker
from support.postgres import Postgres
from support.process import wait_until
from support.standby import Standby

QUEUE = "standby.wait"
# What a transaction asks last, and PostgreSQL shows, when it asks whether it committed.
QUESTION = "dead_letters"


class Call(threading.Thread):
    """A request on its way; `reply` is None until it is answered."""

    def __init__(self, broker, path, body=None):
        super().__init__(daemon=True)
        self.broker, self.path, self.body = broker, path, body
        self.reply = None
        self.start()

    def run(self):
        self.reply = self.broker.request("POST" if self.body else "GET", self.path, self.body, timeout=90)

    def answer(self, status=None):
        """The body of the answer, when it has come; of success unless told otherwise."""
        self.join(90)
        assert self.reply is not None, f"{self.path} was not answered"
        assert self.reply.status == status or status is None and self.reply.status < 300, self.reply
        return self.reply.json()


class Pair:
    """A primary with its synchronous standby, and two brokers on it."""

    def __init__(self, stack):
        def add(thing):
            stack.callback(thing.close)
            stack.callback(lambda: print(f"---- log of {type(thing).__name__}\n{thing.log()[-10000:]}"))
            thing.start()
            return thing
        self.primary = add(Postgres())
        self.standby = add(Standby(self.primary))
        self.brokers = [add(Broker("--num-workers", "1", env=self.primary.env())) for _ in range(2)]
        self.standby.make_synchronous()

    def wait_for_wait(self, function, *calls):
        """Returns when a call of `function` waits for the standby: its backend's pid and what it has begun
        when. None of `calls` is answered before."""
        def found():
            answered = [call.reply for call in calls if call.reply is not None]
            assert not answered, f"answered before the standby had it: {answered}"
            return self._ask("SELECT pid || ' ' || extract(epoch FROM query_start) FROM pg_stat_activity "
                             f"WHERE wait_event = 'SyncRep' AND query LIKE '%queen.{function}%' LIMIT 1")
        return wait_until(found, 60, f"a commit of {function} to wait").split()

    def cancel_wait(self, function, *calls):
        """The same, and cancels the wait."""
        pid, began = self.wait_for_wait(function, *calls)
        self._ask(f"SELECT pg_cancel_backend({pid})")
        wait_until(lambda: self._ask(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND wait_event = 'SyncRep' "
                                     f"AND extract(epoch FROM query_start) = {began}") == "0",
                   60, "the wait to end")

    def stored(self, partition, server=None):
        """Messages in a partition, of the primary unless told otherwise."""
        return int((server or self.primary).psql(
            f"SELECT count(*) FROM queen.messages WHERE queue = '{QUEUE}' AND partition = '{partition}'"))

    def settled(self, partition):
        """The cursor of queue mode in a partition: all before it is settled."""
        return int(self.primary.psql(
            "SELECT r.cursor FROM queen.progress r JOIN queen.partitions p ON p.id = r.partition_id "
            f"WHERE p.name = '{partition}' ORDER BY r.epoch DESC LIMIT 1"))

    def _ask(self, sql):
        return self.primary.psql(sql, role="postgres")

    def message(self, partition):
        """One message, pushed and leased."""
        pushed = self.brokers[0].post("/api/v1/push", {"items": [item(partition, "first")]})
        assert pushed.json()[0]["status"] == "queued", pushed
        popped = self.brokers[0].get(f"/api/v1/pop/queue/{QUEUE}/partition/{partition}?leaseTime=600")
        assert popped.status == 200, popped
        return popped.json()["messages"][0]


@pytest.fixture(scope="module")
def the_pair():
    """One for the whole file."""
    with contextlib.ExitStack() as stack:
        yield Pair(stack)


@pytest.fixture
def pair(the_pair):
    """The same, whole, whatever the test before has left."""
    if the_pair.standby.pid is None:
        the_pair.standby.start()
    the_pair.standby.make_synchronous()
    for broker in the_pair.brokers:
        broker.wait_for("/readyz", 200)
    return the_pair


def item(partition, txn):
    return {"queue": QUEUE, "partition": partition, "payload": txn, "transactionId": txn}


def test_push(pair):
    """Also the wait of the question whether it committed is cancelled; and another broker, asked to store
    the same message, does not call it a duplicate either."""
    pair.message("push")
    pair.standby.stop()
    push = Call(pair.brokers[0], "/api/v1/push", {"items": [item("push", "in doubt")]})
    pair.cancel_wait("push_messages", push)
    pair.cancel_wait("resolve_batch", push)
    pair.cancel_wait("resolve_batch", push)
    assert pair.stored("push") == 2, "it is committed on the primary"
    again = Call(pair.brokers[1], "/api/v1/push", {"items": [item("push", "in doubt")]})
    pair.wait_for_wait("push_messages", push, again)
    pair.standby.start()
    assert [outcome["status"] for outcome in push.answer()] == ["queued"]
    assert [outcome["status"] for outcome in again.answer()] == ["duplicate"]
    assert pair.stored("push") == 2
    wait_until(lambda: pair.stored("push", pair.standby) == 2, 60, "the standby to show it")


def test_ack(pair):
    """It is sent again; another broker, which finds the message settled, does not say so either."""
    message = pair.message("ack")
    pair.standby.stop()
    ack = Call(pair.brokers[0], "/api/v1/ack", ack_of(message))
    pair.cancel_wait("append_lanes", ack)
    pair.cancel_wait("append_lanes", ack)
    assert pair.settled("ack") == 1, "it is committed on the primary"
    pair.wait_for_wait("append_lanes", ack)
    again = Call(pair.brokers[1], "/api/v1/ack", ack_of(message))
    wait_until(lambda: len(pair.primary.backends("wait_event = 'SyncRep' AND query LIKE '%append_lanes(%'")) == 2,
               60, "both acks to wait")
    assert ack.reply is None and again.reply is None, (ack.reply, again.reply)
    pair.standby.start()
    assert ack.answer()[0]["success"]
    assert again.answer()[0]["success"]
    assert pair.settled("ack") == 1


def test_transaction(pair):
    """The question whether it committed waits as well."""
    message = pair.message("source")
    pair.message("sink")
    pair.standby.stop()
    call = Call(pair.brokers[0], "/api/v1/transaction", {"operations": [
        dict(ack_of(message), type="ack"), {"type": "push", "items": [item("sink", "in doubt")]}]})
    pair.cancel_wait("execute_transaction", call)
    pair.cancel_wait(QUESTION, call)
    pair.cancel_wait(QUESTION, call)
    assert pair.stored("sink") == 2, "it is committed on the primary"
    pair.standby.start()
    assert call.answer()["success"]
    assert pair.stored("sink") == 2
    assert pair.settled("source") == 1


def test_transaction_that_did_not_commit(pair):
    """The answer to the question, that it did not commit, is in doubt itself: the question asked again does
    not take its own row for the transaction's."""
    message = pair.message("lost")
    with contextlib.closing(Stranger(pair.primary)) as stranger:
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE queen.progress IN SHARE MODE")
        call = Call(pair.brokers[0], "/api/v1/transaction", {"operations": [dict(ack_of(message), type="ack")]})
        backends = wait_until(lambda: pair.primary.backends(
            "wait_event_type = 'Lock' AND query LIKE '%execute_transaction(%'"), 60, "the transaction")
        pair.standby.stop()
        pair.primary.psql(f"SELECT pg_terminate_backend({backends[0]})", role="postgres")
        pair.cancel_wait(QUESTION, call)
        pair.wait_for_wait(QUESTION, call)
    pair.standby.start()
    assert call.answer()["success"]
    assert pair.settled("lost") == 1


def test_automatic_ack(pair):
    """What such a pop settles is neither delivered nor taken back: its outcome is unknown."""
    pair.brokers[0].post("/api/v1/push", {"items": [item("auto", "1")]})
    pair.standby.stop()
    pop = Call(pair.brokers[0], f"/api/v1/pop/queue/{QUEUE}/partition/auto?autoAck=true")
    pair.cancel_wait("append_lanes", pop)
    assert pop.answer(503)["code"] == "outcome_unknown"
    pair.standby.start()
