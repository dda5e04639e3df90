"""The numbers of queues and groups agree with what was really pushed, consumed, failed and cleared; one broker at a
time measures them, and another takes over when it dies."""

import os
import random
import threading

import pytest

from support.acks import ack_of
from support.process import wait_until
from support.psql_session import PsqlSession

PARTITIONS = 5
GROUPS = ("g", "h")
RETRY_LIMIT = 1


class Ledger:
    """What the test itself knows of one queue, message by message."""

    def __init__(self, broker, queue):
        self.broker, self.queue = broker, queue
        self.stored = set()
        self.consumed = {group: set() for group in GROUPS}
        self.failures = {group: {} for group in GROUPS}
        self.dead = {}  # (group, message id) -> the message
        self.held = {}  # (group, partition) -> messages

    def push(self, partition, count):
        reply = self.broker.post("/api/v1/push", {"items": [
            {"queue": self.queue, "partition": partition, "payload": None} for _ in range(count)]})
        assert reply.status == 201, reply
        self.stored.update(item["message_id"] for item in reply.json())

    def pop(self, group, partition, batch):
        reply = self.broker.get(
            f"/api/v1/pop/queue/{self.queue}/partition/{partition}?consumerGroup={group}&batch={batch}&leaseTime=600")
        assert reply.status in (200, 204), reply
        if reply.status == 200:
            self.held[group, partition] = reply.json()["messages"]

    def settle(self, group, partition, status):
        """A verdict on the first message held; a lease ends with the last."""
        message = self.held[group, partition].pop(0)
        reply = self.broker.post("/api/v1/ack", ack_of(message, status, consumerGroup=group))
        assert reply.status == 200 and reply.json()[0]["success"], reply
        if not self.held[group, partition]:
            del self.held[group, partition]
        failed = self.failures[group]
        if status == "failed" and failed.get(message["id"], 0) < RETRY_LIMIT:
            failed[message["id"]] = failed.get(message["id"], 0) + 1
            return
        self.consumed[group].add(message["id"])
        failed.pop(message["id"], None)
        if status != "completed":
            self.dead[group, message["id"]] = message

    def give_back(self, group, partition):
        message = self.held.pop((group, partition))[0]
        reply = self.broker.post("/api/v1/ack", ack_of(message, "retry", consumerGroup=group))
        assert reply.status == 200 and reply.json()[0]["success"], reply

    def redrive(self, group, message_id):
        """It is pushed again for the group in which it died; for the others it is not there."""
        message = self.dead.pop((group, message_id))
        reply = self.broker.post(
            f"/api/v1/messages/{message['partitionId']}/{message['transactionId']}/retry?consumerGroup={group}")
        assert reply.status == 200, reply
        redriven, = reply.json()["redriven"]
        self._pushed_for(group, redriven["messageId"])

    def redrive_all(self):
        """In bulk, which does not tell the new ids: nothing may be popped afterwards."""
        reply = self.broker.post(f"/api/v1/dlq/redrive?queue={self.queue}")
        assert reply.status == 200 and reply.json()["redriven"] == len(self.dead), reply
        for group, message_id in self.dead:
            self._pushed_for(group, f"{message_id} again for {group}")
        self.dead = {}

    def _pushed_for(self, group, message_id):
        self.stored.add(message_id)
        for other in GROUPS:
            if other != group:
                self.consumed[other].add(message_id)

    def messages(self):
        completed = set.intersection(*self.consumed.values())
        held = {message["id"] for messages in self.held.values() for message in messages}
        return {"total": len(self.stored), "pending": len(self.stored - completed), "processing": len(held),
                "completed": len(completed), "deadLetter": len(self.dead),
                "failed": len({message for failed in self.failures.values() for message in failed})}

    def lag(self, group):
        return len(self.stored - self.consumed[group])


def refresh(broker):
    reply = broker.post("/api/v1/stats/refresh")
    assert reply.status == 200 and reply.json()["success"] is True, reply
    return reply.json()


def step(chance, ledger):
    group, partition = chance.choice(GROUPS), f"p{chance.randrange(PARTITIONS)}"
    kind = chance.random()
    if kind < 0.22:
        ledger.push(partition, chance.randint(1, 6))
    elif kind < 0.25 and ledger.dead:
        ledger.redrive(*chance.choice(sorted(ledger.dead)))
    elif (group, partition) not in ledger.held:
        ledger.pop(group, partition, chance.randint(1, 8))
    elif kind < 0.9:
        ledger.settle(group, partition, chance.choice(("completed", "completed", "failed", "dlq")))
    else:
        ledger.give_back(group, partition)


def check(broker, ledger):
    """Every page says the same as the ledger."""
    refresh(broker)
    expected = ledger.messages()
    detail = broker.get(f"/api/v1/resources/queues/{ledger.queue}").json()
    assert detail["totals"] == expected
    for key in expected:
        assert sum(partition["stats"][key] for partition in detail["partitions"]) == expected[key]
    assert broker.get(f"/api/v1/resources/queues/{ledger.queue}/depth").json()["depth"] == expected["pending"]
    queues = {queue["name"]: queue for queue in broker.get("/api/v1/resources/queues").json()["queues"]}
    assert queues[ledger.queue]["messages"] == {key: expected[key] for key in ("total", "pending", "processing")}
    overview = broker.get("/api/v1/resources/overview").json()
    assert overview["messages"] == expected and overview["queues"] == 1
    assert overview["partitions"] == len(detail["partitions"])
    lags = {group["name"]: group for group in broker.get("/api/v1/consumer-groups").json()}
    for group in GROUPS:
        assert lags[group]["totalLag"] == ledger.lag(group)
        partitions = broker.get(f"/api/v1/consumer-groups/{group}").json()[ledger.queue]["partitions"]
        assert sum(partition["offsetLag"] for partition in partitions) == ledger.lag(group)
        assert sum(partition["offsetLag"] > 0 for partition in partitions) == lags[group]["partitionsWithLag"]
        assert sum(partition["leaseActive"] for partition in partitions) == sum(held == group for held, _ in ledger.held)
    lagging = broker.get("/api/v1/consumer-groups/lagging?minLagSeconds=0").json()
    assert sum(lane["offset_lag"] for lane in lagging) == sum(ledger.lag(group) for group in GROUPS)


def test_numbers_agree_with_what_was_done(make_broker):
    seed = int(os.environ.get("QUEEN_TEST_SEED", random.randrange(1 << 32)))
    print(f"QUEEN_TEST_SEED={seed}")
    chance = random.Random(seed)
    broker = make_broker(env={"NUM_WORKERS": "1", "STATS_INTERVAL_MS": "3600000"}).start()
    assert broker.post("/api/v1/configure", {"queue": "q", "options": {"retryLimit": RETRY_LIMIT}}).status == 200
    ledger = Ledger(broker, "q")
    for group in GROUPS:
        assert broker.get(f"/api/v1/pop/queue/q?consumerGroup={group}").status == 204
    for _ in range(8):
        for _ in range(50):
            step(chance, ledger)
        check(broker, ledger)
    ledger.redrive_all()
    check(broker, ledger)
    assert broker.request("DELETE", "/api/v1/resources/queues/q").status == 200
    refresh(broker)
    overview = broker.get("/api/v1/resources/overview").json()
    assert overview["queues"] == 0 and overview["messages"]["total"] == 0
    assert broker.get("/api/v1/consumer-groups").json() == []


def test_clearing_under_load_loses_and_doubles_nothing(make_broker):
    """Producers, consumers and clears at once: ids are never used twice, each partition stays in order, what is pushed
    after the last clear is delivered, and what was neither cleared nor is there was consumed."""
    broker = make_broker(env={"NUM_WORKERS": "2"}).start()
    done = threading.Event()
    failures, pushed, seen = [], [], []

    def produce(partition):
        number = 0
        while not done.is_set():
            reply = broker.post("/api/v1/push", {"items": [
                {"queue": "q", "partition": partition, "payload": number + i, "transactionId": f"{partition}-{number + i}"}
                for i in range(5)]})
            if reply.status != 201 or any(item["status"] != "queued" for item in reply.json()):
                failures.append(str(reply))
            pushed.extend(item["message_id"] for item in reply.json())
            number += 5

    def consume():
        while not done.is_set():
            reply = broker.get("/api/v1/pop/queue/q?consumerGroup=g&batch=7&partitions=2&wait=true&timeout=500")
            if reply.status == 204:
                continue
            messages = reply.json()["messages"]
            acks = broker.post("/api/v1/ack/batch", {"consumerGroup": "g", "acknowledgments": [ack_of(m) for m in messages]})
            if acks.status != 200:
                failures.append(str(acks))
            for message, ack in zip(messages, acks.json()):
                if ack["success"]:
                    seen.append(message["id"])
                elif ack["error"] not in ("Message not found", "Invalid or expired lease"):
                    failures.append(str(ack))

    threads = [threading.Thread(target=produce, args=(f"p{n}",)) for n in range(3)]
    threads += [threading.Thread(target=consume) for _ in range(2)]
    for thread in threads:
        thread.start()
    cleared = 0
    for _ in range(30):
        reply = broker.request("DELETE", "/api/v1/queues/q/clear")
        assert reply.status == 200, reply
        cleared += reply.json()["count"]
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(pushed) == len(set(pushed)), "an id was used twice"
    cleared += broker.request("DELETE", "/api/v1/queues/q/clear").json()["count"]
    totals = broker.get("/api/v1/resources/queues/q").json()["totals"]
    assert totals["pending"] == 0 and totals["processing"] == 0
    assert totals["completed"] + cleared >= len(pushed), "a message vanished"
    for partition in range(3):  # nobody is stuck: neither a lease nor a hole is in the way
        last = {"queue": "q", "partition": f"p{partition}", "payload": "last", "transactionId": f"last-{partition}"}
        assert broker.post("/api/v1/push", {"items": [last]}).json()[0]["status"] == "queued"
        reply = broker.get(f"/api/v1/pop/queue/q/partition/p{partition}?consumerGroup=g&batch=10&autoAck=true&wait=true&timeout=20000")
        assert [message["data"] for message in reply.json()["messages"]] == ["last"]


@pytest.fixture
def observed(postgres):
    """Who holds the job, as the database says."""
    return lambda column: postgres.psql(f"SELECT {column} FROM queen.stats_job").strip()


def test_one_broker_measures_and_another_takes_over(make_broker, postgres, observed):
    """The first is killed in the middle of a pass: the second goes on within seconds."""
    env = postgres.env() | {"NUM_WORKERS": "1", "STATS_INTERVAL_MS": "100"}
    first = make_broker(env=env).start()
    assert first.post("/api/v1/push", {"items": [{"queue": "q", "payload": 1}]}).status == 201
    wait_until(lambda: int(observed("passes")) >= 2, 30, "no pass was made")
    first.pause()  # with the job or between two passes
    postgres.psql("UPDATE queen.stats_job SET holder = gen_random_uuid(), held_until = clock_timestamp() + interval '5 seconds'")
    first.kill9()
    second = make_broker(env=env).start()
    before = int(observed("passes"))
    wait_until(lambda: int(observed("passes")) >= before + 2, 30, "nobody takes over")
    assert second.get("/api/v1/resources/overview").json()["messages"]["pending"] == 1


def test_a_broker_dies_within_a_pass_and_another_makes_the_next(make_broker, postgres, observed, closing):
    """It is killed while a step of its pass waits for a lock. The step is committed without it, and holds the job."""
    env = postgres.env() | {"NUM_WORKERS": "1", "STATS_INTERVAL_MS": "100"}
    first = make_broker(env=env).start()
    assert first.post("/api/v1/push", {"items": [{"queue": "q", "payload": 1}]}).status == 201
    wait_until(lambda: int(observed("passes")) >= 1, 30, "no pass was made")
    # More than one step, or the one under way would end the pass.
    postgres.psql("INSERT INTO queen.partitions (queue_id, name) SELECT q.id, 'p' || i FROM queen.queues q, generate_series(1, 5000) i")
    blocker = closing(PsqlSession(postgres))
    blocker.run("BEGIN; LOCK TABLE queen.lane_lags IN ACCESS EXCLUSIVE MODE;")
    wait_until(lambda: blocker.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0",
               30, "no step of a pass waits")
    before = int(observed("passes"))
    holder = observed("holder")
    assert holder
    second = make_broker(env=env).start()
    first.kill9()
    blocker.run("ROLLBACK")
    wait_until(lambda: int(observed("passes")) >= before + 2, 60, "nobody takes over")
    assert observed("holder") != holder
    overview = second.get("/api/v1/resources/overview").json()
    assert overview["messages"]["pending"] == 1 and overview["partitions"] == 5001


def test_a_refresh_on_either_broker_sees_what_was_pushed_on_the_other(two_brokers):
    _, here, there = two_brokers
    for number in range(1, 6):
        assert there.post("/api/v1/push", {"items": [{"queue": "refreshed", "payload": number}]}).status == 201
        refresh(here)
        queues = {queue["name"]: queue for queue in there.get("/api/v1/resources/queues").json()["queues"]}
        assert queues["refreshed"]["messages"]["total"] == number
    replies = []
    threads = [threading.Thread(target=lambda broker=broker: replies.append(refresh(broker))) for broker in (here, there) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(replies) == len(threads)
