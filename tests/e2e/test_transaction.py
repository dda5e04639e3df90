"""Transactions whose connection to PostgreSQL is lost: applied exactly once, and the caller is told."""

import threading

import pytest

from support.process import wait_until


class Held:
    """Inserts of segments wait while this is held."""

    def __init__(self, postgres):
        self.postgres = postgres
        self.thread = threading.Thread(target=self._hold)
        self.thread.start()
        wait_until(lambda: self._count("granted") == 1, 30)

    def _hold(self):
        self.postgres.psql("BEGIN; LOCK TABLE queen.segments IN SHARE ROW EXCLUSIVE MODE; "
                           "SELECT pg_sleep(600) AS held", check=False)

    def _count(self, condition):
        return int(self.postgres.psql(
            "SELECT count(*) FROM pg_locks WHERE relation = 'queen.segments'::regclass AND "
            f"{condition} AND mode = "
            f"'{'ShareRowExclusiveLock' if condition == 'granted' else 'RowExclusiveLock'}'"))

    def wait_for_waiter(self):
        wait_until(lambda: self._count("NOT granted") > 0, 30)

    def release(self):
        self.postgres.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                           "WHERE query LIKE '%AS held' AND pid <> pg_backend_pid()")
        self.thread.join(30)


class Asked:
    """A request under way; its answer comes with result()."""

    def __init__(self, broker, path, body):
        self.answer = None

        def ask():
            self.answer = broker.post(path, body, timeout=60)
        self.thread = threading.Thread(target=ask)
        self.thread.start()

    def result(self):
        self.thread.join(60)
        assert self.answer is not None, "no answer"
        return self.answer


def stored(postgres, queue):
    return int(postgres.psql(f"SELECT count(*) FROM queen.messages WHERE queue = '{queue}'"))


@pytest.mark.parametrize("committed", [True, False])
def test_a_lost_answer_is_resolved(make_broker, postgres, make_proxy, committed):
    proxy = make_proxy(postgres.host, postgres.port)
    broker = make_broker(env={"DATABASE_URL": postgres.url_at(proxy.host, proxy.port)}).start()
    broker.post("/api/v1/push", {"items": [{"queue": "in", "payload": n, "transactionId": f"m{n}"}
                                           for n in range(2)]})
    popped = broker.get("/api/v1/pop/queue/in?batch=2").json()
    acks = [{"type": "ack", "transactionId": f"m{n}", "partitionId": popped["partitionId"],
             "leaseId": popped["leaseId"], "status": status}
            for n, status in enumerate(["completed", "dlq"])]

    held = Held(postgres)
    try:
        asked = Asked(broker, "/api/v1/transaction", {"operations": acks + [
            {"type": "push", "items": [{"queue": "out", "payload": 1}, {"queue": "out", "payload": 2},
                                       {"queue": "out", "partition": "p", "payload": 3}]}]})
        held.wait_for_waiter()
        if committed:
            proxy.freeze(replies_only=True)
            held.release()
            wait_until(lambda: stored(postgres, "out") == 3, 30)
            proxy.cut()
            proxy.forward()
        else:
            proxy.cut()
    finally:
        held.release()

    answer = asked.result()
    assert answer.status == 200, answer
    assert "asking whether it committed" in broker.log()
    reply = answer.json()
    assert reply["success"], reply
    assert [result["type"] for result in reply["results"]] == ["ack", "ack", "push", "push", "push"]
    assert [result["dlq"] for result in reply["results"][:2]] == [False, True]
    broker.wait_for("/readyz", 200)
    ids = [result["messageId"] for result in reply["results"][2:]]
    delivered = broker.get("/api/v1/pop/queue/out?batch=10&partitions=10&wait=true&timeout=10000")
    assert sorted(message["id"] for message in delivered.json()["messages"]) == sorted(ids)
    assert stored(postgres, "out") == 3, "nothing twice"
    assert broker.get("/api/v1/pop/queue/in?batch=2").status == 204


def test_no_database_is_a_503(make_broker, postgres, make_proxy):
    proxy = make_proxy(postgres.host, postgres.port)
    broker = make_broker(env={"DATABASE_URL": postgres.url_at(proxy.host, proxy.port)}).start()
    body = {"operations": [{"type": "push", "items": [{"queue": "away", "payload": 1}]}]}
    proxy.refuse()
    proxy.cut()
    broker.wait_for("/readyz", 503)
    refused = broker.post("/api/v1/transaction", body)
    assert refused.status == 503 and "ECONNREFUSED" in refused.json()["error"], refused
    proxy.forward()
    broker.wait_for("/readyz", 200)
    assert broker.post("/api/v1/transaction", body).json()["success"]
    assert stored(postgres, "away") == 1


def test_every_message_moves_exactly_once_while_connections_break(make_broker, postgres):
    messages = 400
    broker = make_broker(env={"DATABASE_URL": postgres.url}).start()
    for partition in range(8):
        assert broker.post("/api/v1/push", {"items": [
            {"queue": "from", "partition": str(partition), "payload": n,
             "transactionId": f"{partition}.{n}"} for n in range(messages // 8)]}).status == 201
    unknown = []
    moving = threading.Event()

    def move():
        """Pops one, acks it and pushes its payload on; the push has no transactionId of its own."""
        while True:
            popped = broker.get("/api/v1/pop/queue/from?leaseTime=2&wait=true&timeout=4000")
            if popped.status == 204 and not moving.is_set():
                return
            if popped.status != 200:
                continue
            delivery = popped.json()
            message = delivery["messages"][0]
            answer = broker.post("/api/v1/transaction", {"operations": [
                {"type": "ack", "transactionId": message["transactionId"],
                 "partitionId": delivery["partitionId"], "leaseId": delivery["leaseId"]},
                {"type": "push", "items": [{"queue": "to", "payload": message["transactionId"]}]}]},
                timeout=60)
            if answer.status != 200:
                unknown.append(answer)

    moving.set()
    movers = [threading.Thread(target=move) for _ in range(8)]
    for mover in movers:
        mover.start()
    for _ in range(15):
        before = stored(postgres, "to")
        postgres.terminate_backends()
        wait_until(lambda: stored(postgres, "to") > before or before == messages, 60)
    wait_until(lambda: stored(postgres, "to") >= messages, 60)
    moving.clear()
    for mover in movers:
        mover.join(60)
    moved = postgres.psql("SELECT count(*) || ' ' || count(DISTINCT payload::text) "
                          "FROM queen.messages WHERE queue = 'to'")
    assert moved == f"{messages} {messages}", (moved, unknown)


def test_a_replay_is_recognised_when_its_lease_is_swept(make_broker, postgres):
    """The acks name the lease and no group, and nothing is left of the lease when the transaction is repeated."""
    broker = make_broker(env=postgres.env()).start()
    assert broker.post("/api/v1/push", {"items": [
        {"queue": "in", "payload": number} for number in range(2)]}).status == 201
    messages = broker.get("/api/v1/pop/queue/in?batch=2&consumerGroup=g").json()["messages"]
    body = {"operations": [
        *({"type": "ack", "transactionId": message["transactionId"], "partitionId": message["partitionId"],
           "leaseId": message["leaseId"]} for message in messages),
        {"type": "push", "items": [{"queue": "out", "payload": 1, "transactionId": "t"}]}]}
    first = broker.post("/api/v1/transaction", body).json()
    assert first["success"], first
    postgres.psql("SELECT * FROM queen.sweep_progress(0, 0, 1000)")
    assert postgres.psql(f"SELECT count(*) FROM queen.progress WHERE lease_id = '{messages[0]['leaseId']}'") == "0"
    again = broker.post("/api/v1/transaction", body).json()
    assert again["success"] and again["results"] == first["results"], again
    assert stored(postgres, "out") == 1
    other = body | {"operations": body["operations"][:2]}  # nothing is stored that would prove it
    assert broker.post("/api/v1/transaction", other).json()["error"] == "ACK operation failed: Invalid or expired lease"
