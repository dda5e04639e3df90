"""LyingBroker: a broker in memory, just enough of the API for `queen bench`, that can be told to lie.

It keeps partitions in order, leases and settles. `lie` is asked once per stored message with its
number (from 0) and returns what to do with it: None (store it), "drop" (say queued, forget it),
"double" (store it twice), "echo" (store it again when it is acked, and wake nobody), "swap" (store it
before its predecessor), "foreign" (store something else as well). Its JSON has another order of keys and more white space than the real one's.
"""

import collections
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


class Partition:
    """Messages still to deliver; `leased` counts those that wait for their ack."""

    def __init__(self):
        self.messages = collections.deque()
        self.leased = 0


class Store:
    """What was pushed, by queue and partition."""

    def __init__(self, lie):
        self.changed = threading.Condition()
        self.lie = lie or (lambda number: None)
        self.stored = 0
        self.echoes = {}  # by transactionId
        self.queues = collections.defaultdict(lambda: collections.defaultdict(Partition))

    def push(self, item):
        """Stores one message, or lies about it."""
        what = self.lie(self.stored)
        self.stored += 1
        messages = self.queues[item["queue"]][item["partition"]].messages
        message = (item.get("transactionId", f"t{self.stored}"), item["payload"])
        if what == "drop":
            return
        if what == "swap" and messages:
            messages.insert(len(messages) - 1, message)
            return
        messages.append(message)
        if what == "echo":
            self.echoes[message[0]] = message
        if what == "double":
            messages.append(message)
        if what == "foreign":
            messages.append(("foreign", {"no": "stamp"}))

    def pop(self, queue, name, batch):
        """(partition name, messages) of one partition that is not leased, or None."""
        for candidate, partition in self.queues[queue].items():
            if name not in (None, candidate) or partition.leased or not partition.messages:
                continue
            count = min(batch, len(partition.messages))
            partition.leased = count
            return candidate, [partition.messages.popleft() for _ in range(count)]
        return None


def make_handler(store, refuse):
    """The handler class; `refuse(method, path)` may answer (status, body) instead."""

    class Handler(BaseHTTPRequestHandler):
        """One connection."""
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args):
            """Quiet."""

        def answer(self, status, body=None):
            """One reply."""
            data = b"" if body is None else json.dumps(body, sort_keys=True, indent=1).encode()
            self.send_response(status)
            if status != 204:
                self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def body(self):
            """The request's body, parsed."""
            return json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or "null")

        def refused(self):
            """Answers what `refuse` says, if it says something."""
            said = refuse(self.command, self.path)
            if said is not None:
                self.answer(*said)
            return said is not None

        def do_DELETE(self):  # pylint: disable=invalid-name
            """Deletes a queue."""
            with store.changed:
                store.queues.pop(self.path.rsplit("/", 1)[1], None)
            self.answer(200, {"deleted": True})

        def do_POST(self):  # pylint: disable=invalid-name
            """Push or ack."""
            body = self.body()
            if self.refused():
                return
            if self.path == "/api/v1/push":
                with store.changed:
                    for item in body["items"]:
                        store.push(item)
                    store.changed.notify_all()
                self.answer(201, [{"index": i, "status": "queued"} for i in range(len(body["items"]))])
                return
            acks = body["acknowledgments"]
            with store.changed:
                acks_echoed = any(ack["transactionId"] in store.echoes for ack in acks)
                for ack in acks:
                    queue, name = ack["partitionId"].split("/")
                    partition = store.queues[queue][name]
                    partition.leased -= 1
                    if ack["transactionId"] in store.echoes:
                        partition.messages.append(store.echoes.pop(ack["transactionId"]))
                if not acks_echoed:
                    store.changed.notify_all()
            self.answer(200, [{"success": True, "error": None} for _ in acks])

        def do_GET(self):  # pylint: disable=invalid-name
            """Pop or health."""
            if self.refused():
                return
            parts = urlsplit(self.path)
            words = parts.path.split("/")
            if words[1:4] != ["api", "v1", "pop"]:
                self.answer(200, {"status": "healthy"})
                return
            query = parse_qs(parts.query)
            queue = words[5]
            name = words[7] if len(words) > 7 else None
            batch = int(query.get("batch", ["1"])[0])
            wait = int(query["timeout"][0]) / 1000 if "wait" in query else 0
            with store.changed:
                store.changed.wait_for(lambda: store.queues[queue] and self.ready(queue, name), wait)
                popped = store.pop(queue, name, batch)
                if popped and "autoAck" in query:
                    store.queues[queue][popped[0]].leased = 0
            if popped is None:
                self.answer(204)
                return
            self.answer(200, {
                "partitionId": f"{queue}/{popped[0]}", "leaseId": "L",
                "messages": [{"transactionId": t, "data": data} for t, data in popped[1]]})

        @staticmethod
        def ready(queue, name):
            """Whether a pop would find something."""
            return any(p.messages and not p.leased and name in (None, n)
                       for n, p in store.queues[queue].items())

    return Handler


class Server(ThreadingHTTPServer):
    """A client that leaves while its pop waits is no fault."""
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class LyingBroker:
    """Listens from the start until `close`."""

    def __init__(self, lie=None, refuse=None):
        handler = make_handler(Store(lie), refuse or (lambda method, path: None))
        self._server = Server(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self):
        """Base of its HTTP interface."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        """Stops listening."""
        self._server.shutdown()
        self._server.server_close()
