"""Cleared ranges: what groups are given beside them and behind them."""

import pytest

from support.acks import ack_of


@pytest.fixture
def queue(request):
    return request.node.name.translate(str.maketrans("_[]", "---"))


def push(broker, queue, payloads):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "payload": payload, "transactionId": f"t{payload}"} for payload in payloads]})
    assert reply.status == 201 and all(item["status"] == "queued" for item in reply.json()), reply


def pop(broker, queue, **options):
    query = "&".join(f"{name}={value}" for name, value in options.items())
    reply = broker.get(f"/api/v1/pop/queue/{queue}?{query}")
    assert reply.status in (200, 204), reply
    return reply.json()["messages"] if reply.status == 200 else []


def clear(broker, queue):
    reply = broker.request("DELETE", f"/api/v1/queues/{queue}/clear")
    assert reply.status == 200, reply
    return reply.json()["count"]


@pytest.mark.parametrize("calls", [[range(10)], [[n] for n in range(10)]], ids=["one-segment", "many-segments"])
def test_groups_read_past_a_deleted_message_and_a_cleared_range(two_brokers, queue, calls):
    _, here, there = two_brokers
    for payloads in calls:
        push(here, queue, payloads)
    first = pop(here, queue)
    assert here.post("/api/v1/ack", ack_of(first[0])).json()[0]["success"]
    assert there.request("DELETE", f"/api/v1/messages/{first[0]['partitionId']}/t0").status == 200
    assert clear(there, queue) == 9
    push(here, queue, [10, 11])
    assert [m["data"] for m in pop(here, queue, consumerGroup="young", wait="true", timeout=5000)] == [10]
    seek = f"/api/v1/consumer-groups/__QUEUE_MODE__/queues/{queue}/seek"
    assert here.post(seek, {"offset": 0}).status == 200
    assert [m["data"] for m in pop(here, queue, batch=9, wait="true", timeout=5000)] == [10, 11]
