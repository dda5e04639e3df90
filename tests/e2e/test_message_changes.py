"""Messages deleted and dead letters pushed again while others consume, through another broker than the one whose
caches and rings know the lane."""

import os
import random
import threading
import time

import pytest

from support.acks import ack_of
from support.messages import pop, push
from support.process import wait_until
from support.psql_session import PsqlSession
from support.shared_state import waiting


def ack(broker, messages, status="completed"):
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [ack_of(m, status) for m in messages],
                                              "consumerGroup": messages[0]["consumerGroup"]})
    assert reply.status == 200 and all(item["success"] for item in reply.json()), reply


def delete(broker, message, transaction_id):
    return broker.request("DELETE", f"/api/v1/messages/{message['partitionId']}/{transaction_id}").status


def test_a_cached_segment_does_not_deliver_what_another_broker_deleted(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(5))
    first = pop(here, queue)
    ack(here, first)
    assert delete(there, first[0], "t2") == 200
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true")] == [1, 3, 4]
    assert [m["data"] for m in pop(here, queue, batch=9, autoAck="true", consumerGroup="other")] == [0, 1, 3, 4]


def test_a_lease_goes_on_without_what_is_deleted(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(4))
    leased = pop(here, queue, batch=3)
    assert delete(there, leased[0], "t1") == 200
    assert delete(there, leased[0], "t1") == 404
    ack(here, [leased[0], leased[1], leased[2]])  # an ack of what was deleted is as good as any second ack
    assert [m["data"] for m in pop(here, queue, batch=9)] == [3], "the lease has ended"


def test_a_redrive_wakes_who_waits_at_another_broker(two_brokers, queue):
    _, here, there = two_brokers
    push(here, queue, range(2))
    ack(here, pop(here, queue, batch=2, consumerGroup="g"), "dlq")
    got = []
    waiter = threading.Thread(target=lambda: got.extend(pop(here, queue, wait="true", timeout=20000, batch=9, consumerGroup="g")))
    waiter.start()
    wait_until(lambda: waiting(here, queue) > 0, what="the pop to wait")
    reply = there.post("/api/v1/dlq/redrive", {"queue": queue})
    assert reply.status == 200 and reply.json()["redriven"] == 2 and not reply.json()["more"], reply
    waiter.join(30)
    assert [m["data"] for m in got] == [0, 1]
    ack(there, got)
    assert there.get(f"/api/v1/resources/queues/{queue}/partitions/Default/explain?consumerGroup=g").json()["cause"] == "empty"


def test_a_page_of_dead_letters_ends_at_eight_megabytes(two_brokers, queue):
    """The total is that of all, and the next page goes on where it ended."""
    _, here, _ = two_brokers
    payloads = [str(number) * 1_000_000 for number in range(10)]
    for number, payload in enumerate(payloads):
        reply = here.post("/api/v1/push", {"items": [{"queue": queue, "payload": payload, "transactionId": f"t{number}"}]})
        assert reply.status == 201, reply
    ack(here, pop(here, queue, batch=10, consumerGroup="g"), "dlq")
    pages = [here.get(f"/api/v1/dlq?queue={queue}&limit=100&offset={offset}").json() for offset in (0, 8)]
    assert [(page["total"], len(page["messages"])) for page in pages] == [(10, 8), (10, 2)]
    assert sorted(letter["data"] for page in pages for letter in page["messages"]) == payloads


def test_deletions_beside_pops_and_acks(two_brokers, queue):
    """No pop that begins after a deletion was answered delivers its message, and nothing waits for the end of a lease:
    it is an hour, and the lane is drained all the same."""
    _, here, there = two_brokers
    seed = int(os.environ.get("QUEEN_TEST_SEED", random.randrange(1 << 30)))
    print(f"seed {seed} (QUEEN_TEST_SEED replays it)")
    rng = random.Random(seed)
    count = 400
    assert here.post("/api/v1/configure", {"queue": queue, "options": {"leaseTime": 3600}}).status == 200
    push(here, queue, range(count))
    partition_id = here.get(f"/api/v1/messages?queue={queue}&limit=1").json()["messages"][0]["partitionId"]
    victims = rng.sample(range(count), count // 4)
    deleted_at, delivered, errors = {}, [], []
    done = threading.Event()

    def consume(broker, batch):
        try:
            while not done.is_set():
                begun = time.monotonic()
                messages = pop(broker, queue, batch=batch)
                delivered.extend((m["data"], begun) for m in messages)
                if messages:
                    ack(broker, messages)
        except AssertionError as error:
            errors.append(error)

    consumers = [threading.Thread(target=consume, args=(broker, batch)) for broker, batch in ((here, 3), (there, 5))]
    for consumer in consumers:
        consumer.start()
    for victim in victims:
        status = (here if rng.random() < 0.5 else there).request("DELETE", f"/api/v1/messages/{partition_id}/t{victim}").status
        assert status == 200
        deleted_at[victim] = time.monotonic()
    explain = f"/api/v1/resources/queues/{queue}/partitions/Default/explain"
    try:
        wait_until(lambda: errors or here.get(explain).json()["cause"] == "empty", 60, "the lane to be drained")
    finally:
        done.set()
        for consumer in consumers:
            consumer.join(30)
    assert not errors, errors
    late = [data for data, begun in delivered if begun > deleted_at.get(data, float("inf"))]
    assert not late, late
    assert {data for data, _ in delivered} >= set(range(count)) - set(victims), "what was not deleted is delivered"
    assert len(delivered) == len({data for data, _ in delivered}), "once"


def test_a_pop_whose_message_is_deleted_meanwhile_goes_on(two_brokers, queue):
    """It is never answered with no messages. A race: the pop has leased the message and not yet read it in about one of ten."""
    _, here, there = two_brokers

    def item(place, payload):
        return {"queue": queue, "partition": f"p{place}", "payload": payload, "transactionId": f"t{payload}"}

    for place in range(100):
        pushed = here.post("/api/v1/push", {"items": [item(place, "first")]}).json()[0]
        wait = place % 2 == 1
        options = "?wait=true&timeout=20000" if wait else ""
        replies = []
        popper = threading.Thread(target=lambda: replies.append(there.get(f"/api/v1/pop/queue/{queue}/partition/p{place}{options}")))
        popper.start()
        assert here.request("DELETE", f"/api/v1/messages/{pushed['partition_id']}/tfirst").status == 200
        if wait:
            assert here.post("/api/v1/push", {"items": [item(place, "second")]}).status == 201
        popper.join(30)
        assert (replies[0].status == 204 and not wait) or replies[0].json()["messages"], (place, replies[0])


def blocked(session, text):
    """Whether a statement with this text waits for a lock."""
    return "t" in session.run("SELECT true FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
                              f"AND pid <> pg_backend_pid() AND query ~ '{text}'")


def test_deleted_while_a_group_is_born(two_brokers, queue, closing):
    """The new group leases it before it is gone. Its lease goes on without it, and it leaves no dead letter."""
    postgres, broker, _ = two_brokers
    push(broker, queue, [1])
    partition_id = broker.get(f"/api/v1/messages?queue={queue}&limit=1").json()["messages"][0]["partitionId"]
    holder, other = closing(PsqlSession(postgres)), closing(PsqlSession(postgres))
    holder.run("BEGIN; SELECT 1 FROM queen.segments FOR UPDATE")  # the deletion waits behind its look at the groups
    deletion = threading.Thread(target=broker.request, args=("DELETE", f"/api/v1/messages/{partition_id}/t1"))
    deletion.start()
    wait_until(lambda: blocked(other, "delete_message"), 10, "the deletion to wait")
    leased = pop(broker, queue, consumerGroup="young")
    holder.run("COMMIT")
    deletion.join(30)
    broker.post("/api/v1/ack", ack_of(leased[0], "dlq", consumerGroup="young"))
    assert broker.get(f"/api/v1/dlq?queue={queue}").json()["messages"] == [], "its dead letters go with it"
    push(broker, queue, [2])
    assert [m["data"] for m in pop(broker, queue, consumerGroup="young")] == [2], "the lane goes on"


def test_a_queue_is_deleted_while_its_letter_is_redriven(two_brokers, queue, closing):
    postgres, broker, _ = two_brokers
    push(broker, queue, [1])
    message = pop(broker, queue)[0]
    ack(broker, [message], "dlq")
    holder, other = closing(PsqlSession(postgres)), closing(PsqlSession(postgres))
    holder.run("BEGIN; SELECT 1 FROM queen.dead_letters FOR UPDATE")
    replies = {}

    def ask(what, method, path):
        thread = threading.Thread(target=lambda: replies.update({what: broker.request(method, path)}))
        thread.start()
        return thread

    redrive = ask("redrive", "POST", f"/api/v1/messages/{message['partitionId']}/t1/retry")
    wait_until(lambda: blocked(other, "redrive"), 10, "the redrive to wait")
    deletion = ask("deletion", "DELETE", f"/api/v1/resources/queues/{queue}")
    wait_until(lambda: "deletion" in replies or blocked(other, "delete_queue"), 10, "the deletion to be done or to wait")
    holder.run("COMMIT")
    redrive.join(30)
    deletion.join(30)
    assert replies["redrive"].status == 200 and replies["deletion"].status == 200, replies


def test_redriven_messages_stay_with_their_group(two_brokers, queue):
    _, broker, _ = two_brokers
    push(broker, queue, range(3))
    pop(broker, queue, consumerGroup="slow")  # has consumed nothing, so that the clear takes the originals
    ack(broker, pop(broker, queue, consumerGroup="g", batch=3), "dlq")
    assert broker.request("DELETE", f"/api/v1/queues/{queue}/clear").status == 200
    assert broker.post("/api/v1/dlq/redrive", {"queue": queue}).json()["redriven"] == 3
    assert broker.request("DELETE", f"/api/v1/consumer-groups/g/queues/{queue}?deleteMetadata=false").status == 200
    assert [m["data"] for m in pop(broker, queue, consumerGroup="g", batch=9)] == [0, 1, 2]


def test_the_recorded_start_outlives_a_seek(two_brokers, queue):
    """A group deleted without its record begins at its start: as recorded, or behind a seek of the whole queue to the end."""
    _, broker, _ = two_brokers
    group = f"/api/v1/consumer-groups/n/queues/{queue}"
    push(broker, queue, range(5))
    assert pop(broker, queue, consumerGroup="n", subscriptionMode="new") == []
    push(broker, queue, range(5, 8))
    assert broker.post(f"{group}/partitions/Default/seek", {"toEnd": True}).status == 200
    assert broker.request("DELETE", f"{group}?deleteMetadata=false").status == 200
    assert [m["data"] for m in pop(broker, queue, consumerGroup="n", batch=99)] == [5, 6, 7]
    assert broker.post(f"{group}/seek", {"toEnd": True}).status == 200
    push(broker, queue, [8])
    assert broker.request("DELETE", f"{group}?deleteMetadata=false").status == 200
    assert [m["data"] for m in pop(broker, queue, consumerGroup="n", batch=99)] == [8]


@pytest.mark.parametrize("name", ["zzz%0At1", "t1%0A", "%0At1"], ids=["two", "behind", "before"])
def test_a_name_with_a_line_end_is_no_other_name(two_brokers, queue, name):
    _, broker, _ = two_brokers
    push(broker, queue, [1])
    partition_id = broker.get(f"/api/v1/messages?queue={queue}&limit=1").json()["messages"][0]["partitionId"]
    path = f"/api/v1/messages/{partition_id}/{name}"
    for method, of in (("GET", ""), ("POST", "/dlq"), ("POST", "/retry"), ("DELETE", "")):
        assert broker.request(method, path + of).status == 404, method + of
    assert [m["data"] for m in pop(broker, queue)] == [1]
