"""Collector: an OTLP/HTTP endpoint that records the spans it is sent, as JSON."""

import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .process import wait_until


class Span:
    """One span of a request to /v1/traces, checked to be as OTLP says."""

    def __init__(self, resource, span):
        self.resource = resource
        self.name = span["name"]
        self.kind = span["kind"]
        self.trace, self.id, self.parent = span["traceId"], span["spanId"], span.get("parentSpanId")
        self.begin, self.end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
        self.attributes = attributes(span["attributes"])
        self.links = [Link(link) for link in span.get("links", [])]
        self.links_dropped = span.get("droppedLinksCount", 0)
        self.status = span.get("status", {})
        assert len(bytes.fromhex(self.trace)) == 16 and len(bytes.fromhex(self.id)) == 8, span
        assert isinstance(span["startTimeUnixNano"], str) and self.begin <= self.end, span

    @property
    def context(self):
        """Its trace and its id, as a link or a parent names them."""
        return self.trace, self.id

    def __repr__(self):
        return f"<{self.name} {self.context} below {self.parent} links {self.links} {self.attributes}>"


class Link:
    """What a span is linked to."""

    def __init__(self, link):
        self.context = link["traceId"], link["spanId"]
        self.attributes = attributes(link.get("attributes", []))

    def __repr__(self):
        return f"{self.context} {self.attributes}"


def attributes(listed):
    """OTLP's list of typed values as a dict."""
    def value(typed):
        (kind, what), = typed.items()
        if kind == "arrayValue":
            return [value(one) for one in what["values"]]
        return int(what) if kind == "intValue" else what
    return {entry["key"]: value(entry["value"]) for entry in listed}


class Collector:
    """Listens on any free port. `answers` are the statuses of the next requests, 200 behind them. With
    `tls`, a file with a key and its certificate, it speaks https."""

    def __init__(self, tls=None):
        self.answers = []
        self.requests = []  # (path, headers with names in lower case)
        self._spans = []
        self._lock = threading.Lock()
        self._released = threading.Event()
        self._released.set()
        collector = self

        class Handler(BaseHTTPRequestHandler):
            """One connection of an exporter."""
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # pylint: disable=invalid-name
                """Takes spans."""
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = collector._take(self.path, self.headers, body)
                collector._released.wait()
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *args):  # pylint: disable=arguments-differ
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def port(self):
        """Where it listens."""
        return self._server.server_port

    @property
    def url(self):
        """For OTEL_EXPORTER_OTLP_ENDPOINT."""
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def _take(self, path, headers, body):
        with self._lock:
            self.requests.append((path, {name.lower(): value for name, value in headers.items()}))
            status = self.answers.pop(0) if self.answers else 200
            if status == 200:
                for resource in json.loads(body)["resourceSpans"]:
                    about = attributes(resource["resource"]["attributes"])
                    for scope in resource["scopeSpans"]:
                        self._spans += [Span(about, span) for span in scope["spans"]]
            return status

    def hang(self):
        """From now on requests are read and not answered."""
        self._released.clear()

    def release(self):
        """Ends `hang`."""
        self._released.set()

    def spans(self, name=None):
        """Those that came so far, of that name."""
        with self._lock:
            return [span for span in self._spans if name in (None, span.name)]

    def wait_for(self, name, count=1, seconds=60):
        """The spans of that name once there are so many; no more may come."""
        wait_until(lambda: len(self.spans(name)) >= count, seconds, f"{count} spans {name!r}")
        spans = self.spans(name)
        assert len(spans) == count, spans
        return spans

    def close(self):
        """Ends it."""
        self.release()
        self._server.shutdown()
        self._server.server_close()
