"""The Broker object does what its methods say, tried on a program that only looks like a broker."""

import os
import signal
import sys
import textwrap

import pytest

from support.process import is_running, wait_until

# Ready half a second after it listens; ends with 0 on SIGTERM; exits with 3 when told to.
IMPOSTOR = """\
    #!/usr/bin/python3
    import http.server, json, os, signal, sys, threading, time
    if "--fail" in sys.argv:
        print("cannot do that"); sys.exit(3)
    began = time.monotonic()
    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self, status, value):
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def do_GET(self):
            ready = time.monotonic() - began > 0.5
            self.answer(200 if ready or self.path == "/livez" else 503, dict(os.environ))
        def do_POST(self):
            length = int(self.headers["Content-Length"])
            self.answer(201, json.loads(self.rfile.read(length)))
    port = int(sys.argv[sys.argv.index("--port") + 1])
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever()
"""


@pytest.fixture(autouse=True)
def impostor(directory, monkeypatch):
    path = os.path.join(directory, "queen")
    with open(path, "w", encoding="ascii") as file:
        file.write(textwrap.dedent(IMPOSTOR))
    os.chmod(path, 0o755)
    monkeypatch.setenv("QUEEN_BINARY", path)
    monkeypatch.setenv("DATABASE_URL", "of the caller")


def test_starts_answers_and_stops(make_broker):
    broker = make_broker(env={"EXTRA": "1"}).start()
    seen = broker.get("/").json()
    assert seen["EXTRA"] == "1"
    assert "DATABASE_URL" not in seen, "the caller's environment leaked"
    assert broker.post("/x", {"a": [1, None]}).json() == {"a": [1, None]}
    assert "GET /readyz" in broker.log()
    assert broker.stop() == 0
    assert broker.pid is None
    assert broker.try_get("/livez") is None


def test_live_comes_before_ready(make_broker):
    broker = make_broker().start(until="live")
    assert broker.get("/readyz").status == 503
    broker.wait_for("/readyz", 200)


def test_kill9_and_start_again(make_broker):
    broker = make_broker().start(until="live")
    first = broker.pid
    broker.kill9()
    assert not is_running(first)
    broker.start(until="live")
    assert broker.pid != first


def test_an_exit_is_reported_at_once(make_broker):
    with pytest.raises(AssertionError, match="exited with 3"):
        make_broker("--fail").start()
    assert make_broker("--fail").run_to_end() == (3, "cannot do that\n")


def test_a_reply_that_never_comes_is_an_assertion(make_broker):
    broker = make_broker().start(until="live")
    with pytest.raises(AssertionError, match="GET /livez to answer 599"):
        broker.wait_for("/livez", 599, seconds=0.2)


def test_brokers_die_with_the_tests(make_broker, directory):
    """Even when the tests are killed: checked with a Python of its own that starts one."""
    from support.process import spawn
    broker = make_broker()
    script = ("import os, sys; sys.path.insert(0, sys.argv[1])\n"
              "from support.broker import Broker\n"
              "broker = Broker().start(until='live')\n"
              "print(broker.pid, broker.directory, flush=True)\n"
              "import time; time.sleep(600)\n")
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    report = os.path.join(directory, "report")
    environment = dict(broker.env, QUEEN_BINARY=os.environ["QUEEN_BINARY"])
    with open(report, "wb") as output:
        tester = spawn([sys.executable, "-c", script, tests], output=output, env=environment)

    def reported():
        with open(report, encoding="ascii") as file:
            text = file.read()
        return text.split() if text.endswith("\n") else None
    pid, left = wait_until(reported, what="the broker's pid")
    tester.send_signal(signal.SIGKILL)
    tester.wait()
    wait_until(lambda: not is_running(int(pid)), what="the broker to follow")
    os.unlink(os.path.join(left, "broker.log"))
    os.rmdir(left)
