"""What tests of limits share: requests that are left hanging, refusals, and the memory a broker may take."""

import json
import socket

MIB = 1 << 20
QUEUE = "overload.orders"
CACHE_BYTES = 32 * MIB  # of each worker
WORKERS = 2


def memory_bound(at_rest, request_bytes, items, pops, connections):
    """docs/reliability.md, "Memory under overload"."""
    return (at_rest + 4 * request_bytes + WORKERS * (CACHE_BYTES + 1024 * items + 2048 * pops)
            + 256 * 1024 * connections)


def peak_memory(broker):
    with open(f"/proc/{broker.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def item(number, partition="a", **fields):
    return {"queue": QUEUE, "partition": partition, "payload": {"n": number, **fields}}


def push(broker, items):
    return broker.post("/api/v1/push", {"items": items}, timeout=60)


def assert_refused(reply):
    assert reply.status == 503, reply
    assert "Connection refused (ECONNREFUSED)" in reply.json()["error"]
    assert int(reply.headers["retry-after"]) > 0


class Call:
    """A request on a connection of its own that has arrived when this is made, and is answered later."""

    def __init__(self, broker, method, path, body=None, receive_buffer=None, arrived=True):
        data = b"" if body is None else json.dumps(body).encode()
        self.socket = socket.socket()
        self.socket.settimeout(60)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect((broker.host, broker.port))
        self.socket.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                            f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
        # One loop serves both: it has read the one that was there before.
        assert not arrived or broker.get("/livez").status == 200

    def finish(self):
        """(status, body)"""
        data = bytearray()
        while chunk := self.socket.recv(1 << 20):
            data += chunk
        self.socket.close()
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body) if body else None
