"""Long polls, large payloads and many partitions, as a client sees them."""

import concurrent.futures
import socket

import pytest

from support.process import wait_until
from support.shared_state import waiting


@pytest.fixture
def broker(postgres, make_broker):
    return make_broker("--num-workers", "2", env=postgres.env()).start()


def push(broker, queue, *partitions, payload=1):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "partition": partition, "payload": payload} for partition in partitions]})
    assert reply.status == 201, reply
    assert {item["status"] for item in reply.json()} == {"queued"}


def acknowledge(broker, messages, **options):
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [
        {name: message[name] for name in ("transactionId", "partitionId", "leaseId", "status") if name in message}
        for message in messages], **options})
    assert all(outcome["success"] for outcome in reply.json()), reply


def test_a_client_that_leaves_a_long_poll_takes_nothing_with_it(broker):
    with socket.create_connection((broker.host, broker.port)) as gone:
        gone.sendall(b"GET /api/v1/pop/queue/gone?wait=true&timeout=60000 HTTP/1.1\r\n"
                     b"Host: queen\r\n\r\n")
        wait_until(lambda: waiting(broker, "gone") == 1, 60, "the pop to be parked")
    push(broker, "gone", "Default")
    reply = broker.get("/api/v1/pop/queue/gone?wait=true&timeout=20000")
    assert reply.status == 200 and len(reply.json()["messages"]) == 1


def test_two_megabytes_come_back_as_they_were(broker):
    payload = "\u00e9\"\\" * 500_000
    push(broker, "large", "Default", payload=payload)
    message = broker.get("/api/v1/pop/queue/large").json()["messages"][0]
    assert message["data"] == payload


def test_a_new_group_gets_each_later_message_of_5000_partitions_once(broker):
    names = [f"p{number}" for number in range(5000)]
    for start in range(0, 5000, 500):
        push(broker, "many", *names[start:start + 500], payload="old")
    first = broker.get("/api/v1/pop/queue/many?consumerGroup=late&subscriptionMode=new&batch=100")
    assert first.status == 204
    for start in range(0, 5000, 500):
        push(broker, "many", *names[start:start + 500], payload="new")
    got = []
    while (reply := broker.get("/api/v1/pop/queue/many?consumerGroup=late&batch=1000"
                               "&partitions=200")).status == 200:
        messages = reply.json()["messages"]
        assert {message["data"] for message in messages} == {"new"}
        got += [message["partition"] for message in messages]
        acknowledge(broker, messages, consumerGroup="late")
    assert sorted(got) == sorted(names)


def test_an_ack_without_a_lease_does_not_suffer_from_a_stale_one_beside_it(broker):
    push(broker, "mixed", "Default", "Default")
    one, two = broker.get("/api/v1/pop/queue/mixed?batch=2").json()["messages"]
    place = {"partitionId": one["partitionId"]}
    stale = "01890000-0000-7000-8000-000000000000"
    reply = broker.post("/api/v1/ack/batch", {"acknowledgments": [
        dict(place, transactionId=one["transactionId"]),
        dict(place, transactionId=two["transactionId"], leaseId=stale)]}).json()
    assert [outcome["success"] for outcome in reply] == [True, False]
    assert reply[1]["error"] == "Invalid or expired lease"


def test_a_lease_ended_through_another_broker_holds_nothing_here(postgres, broker, make_broker):
    other = make_broker(env=postgres.env()).start()
    push(broker, "shared", "Default", "Default")
    messages = broker.get("/api/v1/pop/queue/shared?leaseTime=300").json()["messages"]
    acknowledge(other, messages)
    reply = broker.get("/api/v1/pop/queue/shared?leaseTime=300")
    assert reply.status == 200 and reply.json()["messages"][0]["offset"] == 1


def test_everyone_who_waits_is_served(broker):
    """As many messages as waiters, by name and not, with and without automatic acks."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for path in ("/api/v1/pop/queue/waited?", "/api/v1/pop/queue/waited/partition/p?"):
            polls = [pool.submit(broker.get, path + "wait=true&timeout=25000&autoAck=true")
                     for _ in range(4)]
            for _ in polls:
                push(broker, "waited", "p")
            assert [poll.result().status for poll in polls] == [200] * 4
    wait_until(lambda: broker.get("/api/v1/pop/queue/waited").status == 204)


def test_a_pop_after_a_seek_is_given_as_much_as_it_asks_for(broker):
    """What is remembered of a lane from before takes nothing from what the other lanes may give."""
    path = "/api/v1/pop/queue/moved?consumerGroup=g&batch={}&partitions=2"
    push(broker, "moved", "a", "a", "a", "b")
    popped = broker.get(path.format(4)).json()["messages"]
    assert len(popped) == 4
    acknowledge(broker, [{**message, "status": "retry"} for message in popped], consumerGroup="g")
    sought = broker.post("/api/v1/consumer-groups/g/queues/moved/seek", {"toEnd": True})
    assert sought.status == 200, sought
    push(broker, "moved", "a", "b", "b", "b", "b", "b")
    assert len(broker.get(path.format(5)).json()["messages"]) == 5
