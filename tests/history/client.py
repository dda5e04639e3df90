"""One client of the broker: a connection that is kept, and what a faulty network makes of it."""

import http.client
import json
import random
import socket
import time
import urllib.parse

RETRY_SECONDS = 60


class Unanswered(Exception):
    """The request may or may not have been carried out."""


class Client:
    """Requests to one broker (host, port), one at a time."""

    def __init__(self, address):
        self.address = address
        self._connection = None

    def request(self, method, path, body=None, timeout=40):
        """(status, parsed body or None). Raises Unanswered."""
        data = None if body is None else json.dumps(body).encode()
        try:
            if self._connection is None:
                self._connection = http.client.HTTPConnection(*self.address, timeout=timeout)
                self._connection.connect()
                self._connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connection.request(method, path, body=data)
            reply = self._connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Unanswered(f"{method} {path}: {error!r}") from error
        return reply.status, json.loads(text) if text else None

    def insist(self, method, path, body=None):
        """As request, but repeated through lost connections and 503s: for what may be repeated."""
        give_up = time.monotonic() + RETRY_SECONDS
        while True:
            try:
                status, reply = self.request(method, path, body)
                if status != 503:
                    return status, reply
                trouble = Unanswered(f"{method} {path}: {reply}")
            except Unanswered as error:
                trouble = error
            if time.monotonic() > give_up:
                raise trouble
            time.sleep(0.05)

    def pop(self, queue, partition=None, **options):
        """(status, reply); options as in the query, consumerGroup None for queue mode."""
        path = f"/api/v1/pop/queue/{urllib.parse.quote(queue, safe='')}"
        if partition is not None:
            path += f"/partition/{urllib.parse.quote(partition, safe='')}"
        given = {name: value for name, value in options.items() if value is not None}
        return self.request("GET", f"{path}?{urllib.parse.urlencode(given)}")

    def wake(self):
        """A small question on the kept connection. If the broker has ended that while it was idle, even in the moment
        in which it is asked, the question goes out once more, on a new one."""
        kept = self._connection is not None
        try:
            return self.request("GET", "/livez")[0]
        except Unanswered:
            if not kept:
                raise
        return self.request("GET", "/livez")[0]

    def close(self):
        """The next request connects anew."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def uuid7(rng: random.Random, milliseconds=None):
    """A UUIDv7 of that time, or of now."""
    if milliseconds is None:
        milliseconds = time.time_ns() // 1_000_000
    text = f"{milliseconds:012x}7{rng.getrandbits(12):03x}"
    text += f"{rng.getrandbits(62) | 1 << 63:016x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
