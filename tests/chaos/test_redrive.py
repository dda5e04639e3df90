"""Dead letters pushed again in bulk, through two brokers at once, beside pushes to the same partitions, while the
brokers and their connections are killed: each letter comes back exactly once, to its group and to no other."""

import threading

from support.acks import ack_of
from support.process import wait_until

QUEUE, PARTITIONS, LETTERS = "chaos.redrive", 8, 1200


def fill(broker):
    """LETTERS dead letters of group g."""
    for first in range(0, LETTERS, 300):
        items = [{"queue": QUEUE, "partition": f"p{n % PARTITIONS}", "payload": n} for n in range(first, first + 300)]
        assert broker.post("/api/v1/push", {"items": items}).status == 201
    dead = 0
    while dead < LETTERS:
        reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?consumerGroup=g&batch=300&partitions=8")
        assert reply.status == 200, reply
        acks = [ack_of(message, "dlq", error="no") for message in reply.json()["messages"]]
        assert broker.post("/api/v1/ack/batch", {"acknowledgments": acks, "consumerGroup": "g"}).status == 200
        dead += len(acks)


def attempt(broker, method, path, body=None):
    """The reply, or None where there was none or it was no success."""
    try:
        reply = broker.request(method, path, body)
    except (OSError, AssertionError):
        return None
    return reply if reply.status in (200, 201, 204) else None


def drain(broker, group):
    got = []
    while True:
        reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?consumerGroup={group}&batch=500&partitions=8&autoAck=true")
        if reply.status == 204:
            return got
        got += [message["data"] for message in reply.json()["messages"]]


def test_each_letter_comes_back_once(make_broker, postgres):
    brokers = [make_broker("--num-workers", "2", env=postgres.env()).start() for _ in range(2)]
    fill(brokers[0])
    assert sorted(drain(brokers[1], "h")) == list(range(LETTERS)), "another group has consumed them"
    done = threading.Event()
    steps = [threading.Event() for _ in brokers]

    def redrive(place):
        while True:
            reply = attempt(brokers[place], "POST", "/api/v1/dlq/redrive", {"queue": QUEUE, "limit": 60})
            if reply is not None:
                steps[place].set()
                if not reply.json()["more"]:
                    return

    def push():
        pushed = 0
        while not done.is_set():
            attempt(brokers[pushed % 2], "POST", "/api/v1/push",
                    {"items": [{"queue": QUEUE, "partition": f"p{pushed % PARTITIONS}", "payload": -1}]})
            pushed += 1

    workers = [threading.Thread(target=redrive, args=(place,)) for place in range(2)]
    pusher = threading.Thread(target=push)
    for thread in (*workers, pusher):
        thread.start()
    for place, broker in enumerate(brokers):
        assert steps[place].wait(60)
        broker.kill9()
        broker.start()
        steps[place].clear()
    postgres.terminate_backends()
    for worker in workers:
        worker.join(120)
        assert not worker.is_alive()
    done.set()
    pusher.join(60)

    wait_until(lambda: all(broker.get("/health").status == 200 for broker in brokers), 60, "both to be connected again")
    left = None
    while left is None:
        left = attempt(brokers[0], "GET", f"/api/v1/dlq?queue={QUEUE}")
    assert left.json()["total"] == 0
    again = [n for n in drain(brokers[0], "g") if n >= 0]
    assert len(again) == LETTERS and sorted(again) == list(range(LETTERS)), "each exactly once"
    assert [n for n in drain(brokers[1], "h") if n >= 0] == [], "and to no other group"
