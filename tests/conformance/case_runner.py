"""Running conformance cases: files of requests and the replies the contract promises.

A file is {"about": text, "cases": [{"name", "steps": [step, ...]}, ...]}. Every case uses queues of
its own, named with ${run}, so that cases can share a broker and be run again. A step is one of

    {"request": R, "expect": E}                     one request, one reply
    {"request": R, "background": id}                sent now ...
    {"await": id, "expect": E}                      ... and its reply looked at later
    {"request": R, "disconnect_after_ms": n}        the client leaves without reading
    {"pipeline": [R, ...], "expect": [E, ...]}      all sent before the first reply is read

R: {"method", "path", "headers"?, and one of "body" (JSON), "raw_body" (text), "body_hex" (bytes)}
E: {"status", "body"? (matching.py), "empty"? true, "headers"? {name: value, null = not there},
    "contains"? [texts the raw body has], "elapsed_ms"? [least, most],
    "rising"? [[key, ...]] values met along these keys, through arrays, strictly rise}

Whatever a case expects, every reply, and every body that is accepted, is also held to the description of
the API (tests/support/described.py).
"""

import http.client
import io
import json
import os
import re
import socket
import sys
import threading
import time
import uuid
from urllib.parse import urlsplit

from matching import Mismatch, match, show, substitute

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from support import described  # noqa: E402

TIMEOUT_SECONDS = 60
DIRECTORY = os.path.join(HERE, "cases")
DESCRIPTION = described.Description(described.load())


class Reply:
    """Status, headers, body and how long it took."""

    def __init__(self, response, started):
        self.body = response.read()
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.elapsed_ms = (time.monotonic() - started) * 1000

    def __str__(self):
        return f"{self.status} {show(self.body.decode('utf-8', 'replace'))}"


class SharedStream(io.BufferedReader):
    """One buffer for every reply of a connection; each response thinks it owns it."""

    def makefile(self, _mode):
        """What http.client asks of a socket."""
        return self

    def close(self):
        """Closed with the socket."""


def files():
    """Paths of the case files."""
    return sorted(os.path.join(DIRECTORY, name) for name in os.listdir(DIRECTORY)
                  if name.endswith(".json"))


def load(path):
    """The cases of a file."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["cases"]


def encode(request, variables):
    """(method, path, headers, body bytes or None) of a request."""
    headers = dict(substitute(request.get("headers", {}), variables))
    body = None
    if "body" in request:
        body = json.dumps(substitute(request["body"], variables)).encode()
        headers.setdefault("Content-Type", "application/json")
    elif "raw_body" in request:
        body = substitute(request["raw_body"], variables).encode()
    elif "body_hex" in request:
        body = bytes.fromhex(request["body_hex"])
    return request["method"], substitute(request["path"], variables), headers, body


class Client:
    """Requests to one broker, each on a connection of its own."""

    def __init__(self, url):
        parts = urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80

    def _connect(self):
        return http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT_SECONDS)

    def send(self, method, path, headers, body):
        """One request and its reply."""
        connection = self._connect()
        try:
            started = time.monotonic()
            connection.request(method, path, body=body, headers=headers)
            return Reply(connection.getresponse(), started)
        finally:
            connection.close()

    def wait_parked(self, path, background):
        """Until a pop of a queue waits at the broker, or was answered. A pop of a family may come later than the next
        step: what is ready then is given to it."""
        queue = re.match(r"/api/v1/pop/queue/([^/?]+)", path)
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while queue and not background.done() and time.monotonic() < deadline:
            state = json.loads(self.send("GET", "/api/v1/system/shared-state", {}, None).body)
            if any(entry["queue"] == queue[1] and entry["waiting"] for entry in state["consumer_presence"]):
                return
            time.sleep(0.02)

    def send_and_leave(self, seconds, method, path, headers, body):
        """Sends, waits, and closes without reading."""
        connection = self._connect()
        connection.request(method, path, body=body, headers=headers)
        time.sleep(seconds)
        connection.close()

    def pipeline(self, requests):
        """Sends all at once; the replies in order."""
        data = b""
        for method, path, headers, body in requests:
            lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}",
                     f"Content-Length: {len(body or b'')}"]
            lines += [f"{name}: {value}" for name, value in headers.items()]
            data += ("\r\n".join(lines) + "\r\n\r\n").encode() + (body or b"")
        with socket.create_connection((self.host, self.port), TIMEOUT_SECONDS) as connection:
            started = time.monotonic()
            connection.sendall(data)
            stream = SharedStream(socket.SocketIO(connection, "r"))
            replies = []
            for method, _, _, _ in requests:
                response = http.client.HTTPResponse(stream, method=method)
                response.begin()
                replies.append(Reply(response, started))
            return replies


class Background:
    """A request on a thread of its own."""

    def __init__(self, call):
        self._result = None
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(call,), daemon=True)
        self._thread.start()

    def _run(self, call):
        try:
            self._result = call()
        except (OSError, http.client.HTTPException) as error:
            self._error = error

    def done(self):
        """Whether it was answered, or failed."""
        return not self._thread.is_alive()

    def reply(self):
        """The reply, when it is there."""
        self._thread.join(TIMEOUT_SECONDS)
        if self._error is not None:
            raise Mismatch(f"no reply: {self._error!r}")
        if self._result is None:
            raise Mismatch(f"no reply within {TIMEOUT_SECONDS} s")
        return self._result


def met_along(value, keys):
    """The values at the end of `keys`, through every array."""
    if isinstance(value, list):
        return [found for element in value for found in met_along(element, keys)]
    return met_along(value[keys[0]], keys[1:]) if keys else [value]


def check(expect, reply, variables):
    """Raises Mismatch unless the reply is as expected."""
    if reply.status != expect["status"]:
        raise Mismatch(f"status: expected {expect['status']}, got {reply}")
    for name, wanted in expect.get("headers", {}).items():
        actual = reply.headers.get(name.lower())
        match(wanted, actual, variables, f"header {name}")
    if expect.get("empty") and reply.body:
        raise Mismatch(f"expected no body, got {reply}")
    least, most = expect.get("elapsed_ms", (0, float("inf")))
    if not least <= reply.elapsed_ms <= most:
        raise Mismatch(f"took {reply.elapsed_ms:.0f} ms, expected {least} to {most}")
    text = reply.body.decode("utf-8")
    for part in substitute(expect.get("contains", []), variables):
        if part not in text:
            raise Mismatch(f"the body does not contain {part}: {reply}")
    if "body" not in expect and "rising" not in expect:
        return
    body = json.loads(text) if text else None
    if "body" in expect:
        try:
            match(expect["body"], body, variables)
        except Mismatch as mismatch:
            raise Mismatch(f"{mismatch}\n    expected {show(expect['body'])}\n    got {reply}") from None
    for keys in expect.get("rising", []):
        values = met_along(body, keys)
        if any(left >= right for left, right in zip(values, values[1:])):
            raise Mismatch(f"{'.'.join(keys)} does not rise: {values}")


def judge(expect, request, reply, variables):
    """Raises unless the reply is as the case expects and as the API is described."""
    check(expect, reply, variables)
    method, path, _, body = request
    DESCRIPTION.check(method, path, body, reply)


def run_step(client, step, variables, pending):
    """One step of a case."""
    if "await" in step:
        request, background = pending.pop(step["await"])
        return judge(step["expect"], request, background.reply(), variables)
    if "pipeline" in step:
        requests = [encode(request, variables) for request in step["pipeline"]]
        for expect, request, reply in zip(step["expect"], requests, client.pipeline(requests), strict=True):
            judge(expect, request, reply, variables)
        return None
    request = encode(step["request"], variables)
    if "disconnect_after_ms" in step:
        return client.send_and_leave(step["disconnect_after_ms"] / 1000, *request)
    if "background" in step:
        pending[step["background"]] = (request, Background(lambda: client.send(*request)))
        return client.wait_parked(request[1], pending[step["background"]][1])
    return judge(step["expect"], request, client.send(*request), variables)


def run_case(url, case):
    """None, or what went wrong."""
    client = Client(url)
    variables = {"run": uuid.uuid4().hex[:12]}
    pending = {}
    for number, step in enumerate(case["steps"], 1):
        try:
            run_step(client, step, variables, pending)
        except (Mismatch, described.NotDescribed, OSError, http.client.HTTPException, ValueError) as error:
            asked = step.get("request") or step.get("pipeline") or {"await": step.get("await")}
            return f"step {number}: {show(asked)}\n    {error if str(error) else repr(error)}"
    return None
