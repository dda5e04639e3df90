"""I10, more work than can be done: refused at once by a limit with a name, while memory stays below the
bound that docs/reliability.md states and everything that was taken is done once."""

import json
import socket
import threading

import pytest

from chaos.overload import (MIB, QUEUE, WORKERS, Call, assert_refused, item, memory_bound, peak_memory,
                            push)
from support.broker import sanitized
from support.process import wait_until


@pytest.fixture
def gated(make_broker, make_proxy, postgres):
    """gated(*args) -> (proxy before PostgreSQL, broker); nothing is buffered on disk."""
    def make(*args, workers=1):
        proxy = make_proxy(postgres.host, postgres.port)
        broker = make_broker("--num-workers", str(workers), "--file-buffer-max-bytes", "0", *args,
                             env=postgres.env(proxy.host, proxy.port)).start()
        return proxy, broker
    return make


def take_all(broker, count):
    """partition -> numbers, in the order they came; fails when there are more than `count`."""
    taken = {}

    def step():
        reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?batch=10000&partitions=1000&autoAck=true",
                           timeout=60)
        for message in reply.json()["messages"] if reply.status == 200 else ():
            taken.setdefault(message["partition"], []).append(message["data"]["n"])
        return reply.status == 204 and sum(map(len, taken.values())) >= count
    wait_until(step, 60, f"{count} messages")
    return taken


# ---- the edge of each limit


def test_items_of_pushes(gated):
    proxy, broker = gated("--sidecar-push-items-max", "10")
    assert push(broker, [item(n) for n in range(3)]).status == 201
    proxy.freeze()
    assert push(broker, [item(n) for n in range(11)]).status == 413  # it would never fit
    waiting = Call(broker, "POST", "/api/v1/push", {"items": [item(3 + n) for n in range(10)]})
    assert_refused(push(broker, [item(99)]))
    proxy.forward()
    status, outcomes = waiting.finish()
    assert (status, [outcome["status"] for outcome in outcomes]) == (201, ["queued"] * 10)
    assert push(broker, [item(13)]).status == 201
    assert take_all(broker, 14) == {"a": list(range(14))}


def lease(broker, count):
    """Pushes and leases messages; returns their acks."""
    assert push(broker, [item(n) for n in range(count)]).status == 201
    leased = broker.get(f"/api/v1/pop/queue/{QUEUE}?batch={count}").json()
    return [{"transactionId": message["transactionId"], "partitionId": message["partitionId"],
             "leaseId": leased["leaseId"]} for message in leased["messages"]]


def test_items_of_acks(gated):
    proxy, broker = gated("--sidecar-ack-items-max", "3")
    acks = lease(broker, 4)
    proxy.freeze()
    assert broker.post("/api/v1/ack/batch", {"acknowledgments": acks}).status == 413
    waiting = Call(broker, "POST", "/api/v1/ack/batch", {"acknowledgments": acks[:3]})
    assert_refused(broker.post("/api/v1/ack", acks[3]))
    proxy.forward()
    status, outcomes = waiting.finish()
    assert (status, [outcome["success"] for outcome in outcomes]) == (200, [True] * 3)
    assert broker.post("/api/v1/ack", acks[3]).json()[0]["leaseReleased"] is True


def test_items_of_transactions(gated):
    proxy, broker = gated("--sidecar-transaction-items-max", "2")
    acks = lease(broker, 1)
    operations = [{"type": "push", "items": [item(1)]}, {"type": "ack", **acks[0]}]
    proxy.freeze()
    more = [{"type": "push", "items": [item(8), item(9)]}, operations[1]]
    assert broker.post("/api/v1/transaction", {"operations": more}).status == 413
    waiting = Call(broker, "POST", "/api/v1/transaction", {"operations": operations})
    assert_refused(broker.post("/api/v1/transaction", {"operations": [operations[1]]}))
    proxy.forward()
    status, result = waiting.finish()
    assert (status, result["success"]) == (200, True)
    assert take_all(broker, 1) == {"a": [1]}


@pytest.mark.parametrize("path", [f"/queue/{QUEUE}", f"/queue/{QUEUE}/partition/a",
                                  "?namespace=overload"])
def test_pops_waiting_or_not(gated, path):
    _, broker = gated("--sidecar-pops-max", "3")
    path = f"/api/v1/pop{path}{'&' if '?' in path else '?'}autoAck=true"
    waiting = [Call(broker, "GET", f"{path}&wait=true&timeout=60000") for _ in range(3)]
    assert_refused(broker.get(f"{path}&wait=true"))
    assert_refused(broker.get(path))
    assert push(broker, [item(0)]).status == 201
    for number in range(1, 3):
        wait_until(lambda: broker.get(path).status != 503, 60, "room for one more")
        assert push(broker, [item(number)]).status == 201
    for number in range(3, 9):  # whoever of the three is still there is served
        assert push(broker, [item(number)]).status == 201
    assert all(call.finish()[0] == 200 for call in waiting)


def test_replies_that_are_not_taken(gated):
    """Without room even for small replies pops wait, or are refused, until there is room; what has no large reply
    goes on. (That large ones leave room for small ones is in test_unread_replies.py.)"""
    # Waiting pops are woken, or wait: the checks in their place are rare. A large reply is let in when there is
    # no other, here one that is more than the whole.
    _, broker = gated("--http-reply-bytes-max", str(MIB), "--pop-wait-base-interval-ms", "60000",
                      "--pop-wait-max-interval-ms", "60000")
    assert push(broker, [item(0, "known")]).status == 201
    for status in (200, 204):
        path = f"/api/v1/pop/queue/{QUEUE}?autoAck=true"
        assert [broker.get(f"{path}{group}").status for group in ("", "&consumerGroup=any")] == [
            status, status]
    assert push(broker, [item(0, text="x" * 12 * MIB)]).status == 201
    slow = Call(broker, "GET", f"/api/v1/pop/queue/{QUEUE}", receive_buffer=65536)
    empty = "/api/v1/pop/queue/overload.nothing"
    wait_until(lambda: broker.get(empty).status == 503, 60, "the reply to be made")
    assert_refused(broker.get(empty))
    assert push(broker, [item(0, "b")]).status == 201
    waiting = [Call(broker, "GET", f"/api/v1/pop{path}wait=true&timeout=60000") for path in (
        f"/queue/{QUEUE}/partition/b?", f"/queue/{QUEUE}?consumerGroup=any&",
        "?namespace=overload&consumerGroup=family&")]
    assert push(broker, [item(1, "b")]).status == 201
    assert_refused(broker.get(empty))
    status, taken = slow.finish()
    assert (status, len(taken["messages"])) == (200, 1)
    for call in waiting:
        status, taken = call.finish()
        assert (status, len(taken["messages"])) == (200, 1)
    assert broker.get(empty).status == 204


def test_connections(gated):
    """In use by pops that wait; what becomes of idle ones is in test_limits.py. The last one leaves while the
    names it pops from are looked up, and its place is free all the same."""
    _, broker = gated("--http-connections-max", "4")
    path = f"/api/v1/pop/queue/{QUEUE}?wait=true&timeout=600000"
    wait_until(lambda: broker.get("/livez").status == 200, 30, "the connections of the start to go")
    clients = [Call(broker, "GET", path) for _ in range(3)]
    clients.append(Call(broker, "GET", path, arrived=False))
    wait_until(lambda: broker.get("/livez").status == 503, 30, "the last to arrive")
    assert_refused(broker.get("/livez"))
    clients.pop().socket.close()
    wait_until(lambda: broker.get("/livez").status == 200, 30, "room for one more")


# ---- a flood


def test_more_bytes_than_may_wait(gated):
    """PostgreSQL hangs and 300 MiB are pushed: at most 12 are taken, the others refused while it hangs."""
    clients, request_bytes, items = 300, 16 * MIB, 2000
    proxy, broker = gated("--http-body-bytes-max", str(2 * MIB), "--http-request-bytes-max",
                          str(request_bytes), "--sidecar-push-items-max", str(items),
                          "--sidecar-ack-items-max", str(items), "--sidecar-transaction-items-max",
                          str(items), "--sidecar-pops-max", str(items), workers=WORKERS)
    assert push(broker, [item(0, "first")]).status == 201
    at_rest = peak_memory(broker)
    proxy.freeze()
    padding = b"x" * MIB
    replies = {}

    def flood(number):
        begin = json.dumps({"items": [item(number, f"p{number % 7}", text="")]}).encode()
        begin, end = begin[:begin.index(b'""') + 1], begin[begin.index(b'""') + 1:]
        length = len(begin) + len(padding) + len(end)
        with socket.create_connection((broker.host, broker.port), 60) as client:
            client.sendall(f"POST /api/v1/push HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                           f"Connection: close\r\nContent-Length: {length}\r\n\r\n".encode())
            reply = client.recv(65536)
            if reply.startswith(b"HTTP/1.1 100"):
                for part in (begin, padding, end):
                    client.sendall(part)
                reply = client.recv(65536)
            replies[number] = int(reply.split()[1])
    threads = [threading.Thread(target=flood, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    # Each is a little more than 1 MiB, and pushes may have three quarters of the 16. How many of those
    # that are let in come to their end depends on who is faster.
    wait_until(lambda: len(replies) >= clients - 11, 60, "all others to be refused")
    assert set(replies.values()) == {503}
    assert broker.get("/livez").status == 200
    proxy.forward()
    for thread in threads:
        thread.join(60)
    accepted = [number for number, status in replies.items() if status == 201]
    assert 1 <= len(accepted) <= 11 and set(replies.values()) == {201, 503}
    peak = peak_memory(broker)
    bound = memory_bound(at_rest, request_bytes, 3 * items, items, clients)
    print(f"overload: at rest {at_rest >> 20} MiB, peak {peak >> 20} MiB, bound {bound >> 20} MiB")
    assert peak < bound or sanitized()  # whose memory is not the broker's
    taken = take_all(broker, len(accepted) + 1)
    assert sorted(sum(taken.values(), [])) == sorted(accepted + [0])


class Producer:
    """Pushes one request after the other, four times as many of them as there is room for."""

    def __init__(self, broker, name):
        self.broker = broker
        self.name = name
        self.next = 0
        self.refused = 0
        self.error = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        try:
            while not self.stopping.is_set():
                reply = push(self.broker, [item(self.next, self.name)])
                if reply.status == 503:
                    self.refused += 1
                    continue
                assert reply.json()[0]["status"] == "queued", reply
                self.next += 1
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error


def test_a_flood_of_pushes_starves_nobody(gated):
    """Acks, pops and /livez are served one after the other, each at its first attempt."""
    rounds, request_bytes = 25, 2048  # three quarters are room for 16 pushes
    proxy, broker = gated("--http-body-bytes-max", "1024", "--http-request-bytes-max",
                          str(request_bytes), workers=WORKERS)
    for number in range(rounds):
        other = {"queue": "overload.other", "partition": f"p{number}", "payload": number}
        assert push(broker, [other]).status == 201
    at_rest = peak_memory(broker)
    proxy.delay(0.02)
    producers = [Producer(broker, f"p{number}") for number in range(64)]
    for producer in producers:
        producer.thread.start()
    wait_until(lambda: sum(producer.refused for producer in producers) > 50, 60, "refusals")
    for _ in range(rounds):
        popped = broker.get("/api/v1/pop/queue/overload.other", timeout=60)
        assert popped.status == 200, popped
        message = popped.json()["messages"][0]
        acked = broker.post("/api/v1/ack", {
            "transactionId": message["transactionId"], "partitionId": message["partitionId"],
            "leaseId": message["leaseId"]}, timeout=60)
        assert acked.status == 200 and acked.json()[0]["success"] is True, acked
        assert broker.get("/livez").status == 200
    for producer in producers:
        producer.stopping.set()
    for producer in producers:
        producer.thread.join()
        assert producer.error is None, producer.error
    proxy.forward()
    peak = peak_memory(broker)
    bound = memory_bound(at_rest, request_bytes, 0, 0, 70)
    stored = {producer.name: list(range(producer.next)) for producer in producers if producer.next}
    print(f"overload: {sum(map(len, stored.values()))} stored, "
          f"{sum(producer.refused for producer in producers)} pushes refused, "
          f"at rest {at_rest >> 20} MiB, peak {peak >> 20} MiB, bound {bound >> 20} MiB")
    assert peak < bound or sanitized()  # whose memory is not the broker's
    assert take_all(broker, sum(map(len, stored.values()))) == stored
