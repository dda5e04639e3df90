"""A transactionId is free again once its message is cleared or expired. A broker that has delivered the old message does
not take a verdict on the new one for one on the old one."""

import pytest

from support.acks import ack_of
from support.process import wait_until


@pytest.fixture
def used_again(two_brokers, request):
    """(broker that knows the old message, the other one, the new message as it was delivered by that one)"""
    _, here, there = two_brokers
    queue = request.node.name.replace("_", "-")
    for offset in (0, 1):
        reply = here.post("/api/v1/push", {"items": [{"queue": queue, "payload": offset, "transactionId": "t"}]})
        assert reply.json()[0]["status"] == "queued", reply
        broker = there if offset else here
        message = broker.get(f"/api/v1/pop/queue/{queue}?leaseTime=2").json()["messages"][0]
        assert message["offset"] == offset
        if offset == 0:
            assert here.request("DELETE", f"/api/v1/queues/{queue}/clear").json()["count"] == 1
    return here, there, message


def is_settled(broker, message):
    path = f"/api/v1/resources/queues/{message['queue']}/partitions/Default/explain"
    wait_until(lambda: broker.get(path).json()["cause"] != "leased", 10, "the lease to end")
    return broker.get(path).json()["cause"] == "empty"


def test_ack(used_again):
    here, there, message = used_again
    assert here.post("/api/v1/ack", ack_of(message)).json()[0]["success"]
    assert is_settled(there, message)


def test_transaction(used_again):
    here, there, message = used_again
    ack = {"type": "ack", "consumerGroup": message["consumerGroup"], **ack_of(message)}
    reply = here.post("/api/v1/transaction", {"operations": [ack, {"type": "push", "items": [{"queue": "next", "payload": 1}]}]})
    assert reply.json()["success"], reply
    assert is_settled(there, message)


def test_a_transaction_that_looks_like_a_replay(used_again):
    here, there, message = used_again
    item = {"queue": "replayed", "payload": 1, "transactionId": "stored"}
    assert here.post("/api/v1/push", {"items": [item]}).json()[0]["status"] == "queued"
    ack = {"type": "ack", "consumerGroup": message["consumerGroup"], **ack_of(message)}
    reply = here.post("/api/v1/transaction", {"operations": [ack, {"type": "push", "items": [item]}]})
    assert reply.json()["error"] == "Duplicate transactionId: stored", reply
    assert not is_settled(there, message)
