"""Maintenance of pushes and pops: shared by two brokers on one database, over restarts of all of them."""

import random
import socket
import threading
import time

import pytest

from history.run import new_seed
from support.process import wait_until
from test_outages_under_load import Producer, check, take_everything

QUEUE = "maintenance.orders"
PUSH = "/api/v1/system/maintenance"
POP = "/api/v1/system/maintenance/pop"


@pytest.fixture
def make_one(make_broker, postgres):
    """make_one() -> a broker whose waiting pops are woken or wait: it hardly ever asks for them."""
    return lambda: make_broker("--num-workers", "2", "--pop-wait-base-interval-ms", "60000",
                               "--pop-wait-max-interval-ms", "60000", env=postgres.env()).start()


@pytest.fixture
def brokers(make_one):
    """Two on one database."""
    return [make_one(), make_one()]


@pytest.fixture
def broker(make_one):
    """Where one is enough."""
    return make_one()


def state(broker):
    return broker.get(PUSH).json()


def switch(broker, path, enabled):
    """Switches a mode; the broker that was asked has it at once."""
    reply = broker.post(path, {"enabled": enabled})
    assert reply.status == 200, reply
    field = "maintenanceMode" if path == PUSH else "popMaintenanceMode"
    assert reply.json()[field] is enabled


def wait_for_mode(broker, field, enabled):
    wait_until(lambda: state(broker)[field] is enabled, 30, f"{field} to be {enabled}")


def stored(postgres):
    return int(postgres.psql("SELECT coalesce(sum(count), 0) FROM queen.segments"))


class Log:
    """Pushes numbers to one partition through one broker, and knows what was answered how."""

    def __init__(self, broker, partition):
        self.broker = broker
        self.partition = partition
        self.next = 0

    def push(self, status, count=1):
        """Pushes `count` numbers in a call and asserts how they are answered."""
        items = [{"queue": QUEUE, "partition": self.partition, "payload": {"n": self.next + i}}
                 for i in range(count)]
        reply = self.broker.post("/api/v1/push", {"items": items})
        assert reply.status == 201, reply
        assert [outcome["status"] for outcome in reply.json()] == [status] * count, reply
        self.next += count


def pop(broker, query="", queue=QUEUE, timeout=60):
    return broker.get(f"/api/v1/pop/queue/{queue}?batch=1000&partitions=100{query}", timeout=timeout)


def take_all(broker, logs):
    """Pops until everything has come and nothing is left, and compares."""
    taken = {log.partition: [] for log in logs}

    def step():
        reply = pop(broker, "&autoAck=true&wait=true&timeout=500")
        for message in reply.json()["messages"] if reply.status == 200 else ():
            taken[message["partition"]].append(message["data"]["n"])
        return reply.status == 204 and sum(map(len, taken.values())) >= sum(log.next for log in logs)
    wait_until(step, 60, "all messages")
    assert taken == {log.partition: list(range(log.next)) for log in logs}


def assert_paused(reply):
    assert reply.status == 204, reply
    assert reply.headers["queen-paused"] == "pop"


# ---- pushes


def test_pushes_are_held_by_every_broker_over_restarts(brokers, postgres):
    first, second = brokers
    logs = [Log(first, "first"), Log(second, "second")]
    for log in logs:
        log.push("queued", 3)
    switch(first, PUSH, True)
    logs[0].push("buffered", 2)
    wait_for_mode(second, "maintenanceMode", True)
    logs[1].push("buffered")
    before = stored(postgres)
    # A restart finds the mode before anything can be stored, or drained.
    first.stop()
    first.start()
    second.kill9()
    second.start()
    for broker, log, count in ((first, logs[0], 2), (second, logs[1], 1)):
        assert state(broker)["maintenanceMode"] is True
        assert state(broker)["bufferedMessages"] == count
        log.push("buffered")
    assert stored(postgres) == before == 6
    switch(second, PUSH, False)
    wait_for_mode(first, "maintenanceMode", False)
    for broker, log in zip(brokers, logs):
        wait_until(lambda one=broker: state(one)["bufferedMessages"] == 0, 60, "the drain")
        log.push("queued")
    take_all(first, logs)


def test_a_start_without_postgresql_does_not_drain_what_is_held(brokers, postgres):
    """The broker cannot know the mode then; it buffers, and drains only when it has asked."""
    first, second = brokers
    logs = [Log(first, "first"), Log(second, "second")]
    switch(first, PUSH, True)
    logs[0].push("buffered", 5)
    wait_for_mode(second, "maintenanceMode", True)
    postgres.stop()
    # The second lives through the outage with what it knew, the first must ask anew.
    first.kill9()
    first.start(until="live")
    logs[0].push("buffered", 5)
    logs[1].push("buffered")
    postgres.start()
    for broker in brokers:
        broker.wait_for("/readyz", 200)
    assert state(first)["maintenanceMode"] is True
    for log in logs:
        log.push("buffered")
    assert stored(postgres) == 0
    assert (state(first)["bufferedMessages"], state(second)["bufferedMessages"]) == (11, 2)
    switch(first, PUSH, False)
    take_all(second, logs)


def test_pushes_under_load_while_the_mode_comes_and_goes(brokers, postgres):
    seed = new_seed()
    print(f"maintenance: seed={seed}", flush=True)
    rng = random.Random(seed)
    producers = [Producer(brokers[number % 2], number, random.Random(rng.random()), rng.random() < 0.5)
                 for number in range(4)]
    for producer in producers:
        producer.thread.start()

    def await_all(status, before):
        wait_until(lambda: all(producer.counts[status] > count or producer.errors
                               for producer, count in zip(producers, before)),
                   60, f"every producer's pushes to be {status}")

    def counts(status):
        return [producer.counts[status] for producer in producers]
    await_all("queued", counts("queued"))
    for round_number in range(3):
        switch(rng.choice(brokers), PUSH, True)
        await_all("buffered", counts("buffered"))
        if round_number == 1:
            postgres.restart(rng.choice(("fast", "immediate")))
            await_all("buffered", counts("buffered"))
            brokers[0].wait_for("/readyz", 200)
        switch(brokers[0], PUSH, False)
        await_all("queued", counts("queued"))
    for producer in producers:
        producer.stopping.set()
    for producer in producers:
        producer.thread.join()
    taken = take_everything(brokers[1], producers)
    print("maintenance:", {status: sum(counts(status)) for status in ("queued", "buffered", "failed")})
    check(producers, taken)


def test_transactions_go_on_but_do_not_overtake(broker):
    log = Log(broker, "a")
    switch(broker, PUSH, True)
    log.push("buffered")

    def transaction(partition, number):
        return broker.post("/api/v1/transaction", {"operations": [{"type": "push", "items": [
            {"queue": QUEUE, "partition": partition, "payload": {"n": number}}]}]})
    assert transaction("a", 1).status == 503
    assert transaction("b", 0).json()["success"] is True
    switch(broker, PUSH, False)
    wait_until(lambda: transaction("a", 1).status == 200, 60, "the drain")
    log.next = 2
    other = Log(broker, "b")
    other.next = 1
    take_all(broker, [log, other])


def test_a_broker_without_a_buffer_refuses(make_broker, postgres):
    broker = make_broker("--file-buffer-max-bytes", "0", env=postgres.env()).start()
    log = Log(broker, "a")
    log.push("queued")
    switch(broker, PUSH, True)
    refused = broker.post("/api/v1/push", {"items": [{"queue": QUEUE, "payload": 1}]})
    assert refused.status == 503 and "maintenance" in refused.json()["error"], refused
    assert int(refused.headers["retry-after"]) > 0
    assert state(broker)["bufferHealthy"] is False
    switch(broker, PUSH, False)
    log.push("queued")
    take_all(broker, [log])


# ---- pops


def test_pops_are_paused_by_every_broker_over_restarts(brokers):
    first, second = brokers
    log = Log(first, "a")
    log.push("queued", 3)
    leased = pop(second, "&consumerGroup=g").json()
    switch(second, POP, True)
    assert_paused(pop(second))
    wait_for_mode(first, "popMaintenanceMode", True)
    log.push("queued")
    for broker in brokers:
        assert_paused(pop(broker))
        assert_paused(pop(broker, "&wait=true&timeout=300"))
        assert_paused(broker.get("/api/v1/pop?namespace=maintenance&wait=true&timeout=300"))
    # Everything else goes on.
    extended = second.post(f"/api/v1/lease/{leased['leaseId']}/extend", {"seconds": 600})
    assert extended.status == 200 and extended.json()["success"], extended
    acks = [{"transactionId": message["transactionId"], "partitionId": message["partitionId"],
             "leaseId": leased["leaseId"]} for message in leased["messages"]]
    acked = first.post("/api/v1/ack/batch", {"acknowledgments": acks[:2], "consumerGroup": "g"})
    assert all(ack["success"] for ack in acked.json()), acked
    moved = first.post("/api/v1/transaction", {"operations": [
        {"type": "ack", "consumerGroup": "g", **acks[2]},
        {"type": "push", "items": [{"queue": QUEUE, "partition": "a", "payload": {"n": 4}}]}]})
    assert moved.json()["success"] is True, moved
    log.next = 5
    first.kill9()
    first.start()
    second.stop()
    second.start()
    for broker in brokers:
        assert_paused(pop(broker))
    switch(first, POP, False)
    wait_for_mode(second, "popMaintenanceMode", False)
    rest = pop(second, "&consumerGroup=g").json()
    assert [message["data"]["n"] for message in rest["messages"]] == [3, 4]
    take_all(first, [log])


def test_lifting_wakes_waiting_pops_on_every_broker(brokers):
    """One poll of each kind and broker, for a partition of its own."""
    switch(brokers[0], POP, True)
    wait_for_mode(brokers[1], "popMaintenanceMode", True)
    Log(brokers[0], "warm").push("queued")
    answers = {}

    def poll(number, kind):
        path = {"partition": f"/queue/{QUEUE}{number}/partition/a", "any": f"/queue/{QUEUE}{number}",
                "family": f"?namespace=maintenance&task=orders{number}"}[kind]
        glue = "&" if "?" in path else "?"
        answers[number] = brokers[number % 2].get(f"/api/v1/pop{path}{glue}wait=true&timeout=60000",
                                                  timeout=90)
    polls = list(enumerate(kind for kind in ("partition", "any", "family") for _ in brokers))
    threads = [threading.Thread(target=poll, args=each) for each in polls]
    for thread in threads:
        thread.start()
    for number, _ in polls:  # there to take, and not taken
        pushed = brokers[number % 2].post("/api/v1/push", {"items": [
            {"queue": f"{QUEUE}{number}", "partition": "a", "payload": number}]})
        assert pushed.json()[0]["status"] == "queued"
        assert_paused(pop(brokers[number % 2], queue=f"{QUEUE}{number}"))
    assert not answers
    switch(brokers[1], POP, False)
    for thread in threads:
        thread.join(60)
    assert {number: [message["data"] for message in answer.json()["messages"]]
            for number, answer in answers.items()} == {number: [number] for number, _ in polls}


def test_a_group_that_first_pops_while_paused_begins_there(broker):
    """`new` means every push answered after that pop was, though it was given nothing."""
    log = Log(broker, "a")
    log.push("queued")
    switch(broker, POP, True)
    assert_paused(pop(broker, "&consumerGroup=late&subscriptionMode=new"))
    log.push("queued")
    switch(broker, POP, False)
    got = pop(broker, "&consumerGroup=late&subscriptionMode=new").json()
    assert [message["data"]["n"] for message in got["messages"]] == [1]


def test_paused_pops_stay_paused_while_postgresql_is_away(broker, postgres):
    log = Log(broker, "a")
    log.push("queued")
    switch(broker, POP, True)
    assert_paused(pop(broker))
    postgres.stop()
    broker.wait_for("/readyz", 503)
    assert_paused(pop(broker))
    assert broker.post(POP, {"enabled": False}).status == 503
    assert state(broker)["bufferStats"]["dbHealthy"] is False
    postgres.start()
    broker.wait_for("/readyz", 200)
    assert_paused(pop(broker))
    switch(broker, POP, False)
    take_all(broker, [log])


def test_a_client_that_leaves_a_paused_pop_is_given_nothing(broker):
    log = Log(broker, "a")
    log.push("queued")
    switch(broker, POP, True)
    with socket.create_connection((broker.host, broker.port)) as client:
        client.sendall(f"GET /api/v1/pop/queue/{QUEUE}?wait=true&timeout=60000 HTTP/1.1\r\n"
                       "Host: x\r\n\r\n".encode())
        time.sleep(0.2)  # so that it is likely to have been parked; correct either way
    assert_paused(pop(broker))
    switch(broker, POP, False)
    take_all(broker, [log])
