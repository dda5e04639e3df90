"""A tiny HTTP client: one connection per request, JSON in and out."""

import http.client
import json

# Called with (method, path, body, reply) of every request that is answered.
observers = []


class Reply:
    """Status, headers (names in lower case) and body of one reply."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers
        self.body = body

    def json(self):
        """The body, parsed."""
        return json.loads(self.body)

    def __repr__(self):
        return f"<{self.status} {self.body[:500]!r}>"


def request(host, port, method, path, body=None, headers=None, timeout=30, tls=None):
    """Sends one request, over TLS with the context `tls`. `body` may be bytes, or anything that JSON can say.

    Raises OSError.
    """
    headers = dict(headers or {})
    if body is not None and not isinstance(body, bytes):
        body = json.dumps(body).encode("utf-8")
        headers.setdefault("Content-Type", "application/json")
    connection = (http.client.HTTPSConnection(host, port, timeout=timeout, context=tls) if tls else
                  http.client.HTTPConnection(host, port, timeout=timeout))
    try:
        connection.request(method, path, body=body, headers=headers)
        reply = connection.getresponse()
        data = reply.read()
        answer = Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, data)
    except http.client.HTTPException as error:
        raise ConnectionError(f"{method} {path}: {error!r}") from error
    finally:
        connection.close()
    for observe in observers:
        observe(method, path, body, answer)
    return answer
