"""HTTPS: real handshakes, new certificates, clients that are slow, old, unknown or gone."""

import contextlib
import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from support.broker import binary
from support.certificates import Authority
from support.process import is_running, wait_until
from support.scrape import Scrape

VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
LONG = 60


@pytest.fixture
def authority(tmp_path):
    """Signs the broker's certificate."""
    return Authority(tmp_path)


@pytest.fixture
def start(make_broker, postgres, authority):
    """A broker with a certificate of `authority`."""
    def make(until="ready", **env):
        certificate, key = authority.issue("broker")
        broker = make_broker(env={"DATABASE_URL": postgres.url, "NUM_WORKERS": "2", "QUEEN_TLS_CERT": certificate,
                                  "QUEEN_TLS_KEY": key, **env})
        broker.tls = authority.client()
        return broker.start(until)
    return make


@contextlib.contextmanager
def connected(broker, context=None):
    """A socket after the handshake."""
    with socket.create_connection((broker.host, broker.port), LONG) as plain:
        with (context or broker.tls).wrap_socket(plain, server_hostname=broker.host) as sealed:
            yield sealed


def request_bytes(method, path, body=b"", headers=""):
    """One request as it is sent."""
    return (f"{method} {path} HTTP/1.1\r\nHost: {'127.0.0.1'}\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def replies(sealed, count):
    """(status, body) of the next replies."""
    file = sealed.makefile("rb")
    found = []
    for _ in range(count):
        status = int(file.readline().split()[1])
        length = 0
        while (line := file.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        found.append((status, file.read(length)))
    return found


def peer_name(broker, context=None):
    """The common name that the broker shows to a new client."""
    with connected(broker, context) as sealed:
        return dict(part[0] for part in sealed.getpeercert()["subject"])["commonName"]


def handshake_fails(broker, context):
    """Is there no way to speak with it? TLS 1.3 tells a client only after its own last word."""
    try:
        with connected(broker, context) as sealed:
            sealed.sendall(request_bytes("GET", "/livez"))
            return sealed.recv(1) == b""
    except OSError:
        return True


@pytest.mark.parametrize("version", VERSIONS)
def test_push_pop_ack_of_each_version(start, authority, version):
    broker = start()
    broker.tls = authority.client(version=version)
    with connected(broker) as sealed:
        assert sealed.version() == {VERSIONS[0]: "TLSv1.2", VERSIONS[1]: "TLSv1.3"}[version]
        assert "GCM" in sealed.cipher()[0]
    assert broker.post("/api/v1/push", {"items": [{"queue": "q", "payload": "x"}]}).status == 201
    popped = broker.get("/api/v1/pop/queue/q?wait=true&timeout=30000").json()
    message = popped["messages"][0]
    assert message["data"] == "x"
    acked = broker.post("/api/v1/ack", {"transactionId": message["transactionId"], "leaseId": popped["leaseId"],
                                        "partitionId": message["partitionId"]})
    assert acked.json()[0]["success"]


def test_what_is_too_old_or_in_the_clear_is_refused(start, authority):
    broker = start("live")
    old = authority.client(version=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    assert handshake_fails(broker, old)
    with socket.create_connection((broker.host, broker.port), LONG) as plain:
        plain.sendall(request_bytes("GET", "/livez"))
        told = b""
        while chunk := plain.recv(4096):
            told += chunk
    assert told.startswith(b"HTTP/1.1 400") and b"HTTPS" in told
    with socket.create_connection((broker.host, broker.port), LONG) as plain:
        plain.sendall(b"\xff" * 500)
        while plain.recv(4096):
            pass
    assert broker.get("/livez").status == 200


def test_large_bodies_and_pipelining(start):
    broker = start()
    payload = os.urandom(6_000_000).hex()
    body = json.dumps({"items": [{"queue": "large", "payload": payload}]}).encode()
    assert broker.post("/api/v1/push", body, timeout=LONG).status == 201
    assert broker.get("/api/v1/pop/queue/large?autoAck=true", timeout=LONG).json()["messages"][0]["data"] == payload
    with connected(broker) as sealed:
        one = json.dumps({"items": [{"queue": "small", "payload": 1}]}).encode()
        sealed.sendall(request_bytes("POST", "/api/v1/push", one) * 50 + request_bytes("GET", "/livez"))
        assert [status for status, _ in replies(sealed, 51)] == [201] * 50 + [200]


def test_a_reader_that_is_slow_gets_every_byte(start):
    """The reply is encrypted as it is taken."""
    broker = start()
    payload = os.urandom(4_000_000).hex()
    assert broker.post("/api/v1/push", {"items": [{"queue": "q", "payload": payload}]}, timeout=LONG).status == 201
    with socket.socket() as plain:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plain.settimeout(LONG)
        plain.connect((broker.host, broker.port))
        with broker.tls.wrap_socket(plain, server_hostname=broker.host) as sealed:
            sealed.sendall(request_bytes("GET", "/api/v1/pop/queue/q?autoAck=true"))
            (status, body), = replies(sealed, 1)
    assert status == 200 and json.loads(body)["messages"][0]["data"] == payload


def test_half_closed_clients_are_answered(start, authority):
    broker = start("live")
    for version in VERSIONS:
        with socket.create_connection((broker.host, broker.port), LONG) as plain:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            sealed = authority.client(version=version).wrap_bio(incoming, outgoing, server_hostname=broker.host)

            def step(action, *arguments):
                while True:
                    try:
                        result = action(*arguments)
                        plain.sendall(outgoing.read())
                        return result
                    except ssl.SSLWantReadError:
                        plain.sendall(outgoing.read())
                        data = plain.recv(65536)
                        incoming.write(data) if data else incoming.write_eof()

            step(sealed.do_handshake)
            sealed.write(request_bytes("GET", "/livez"))
            with contextlib.suppress(ssl.SSLWantReadError):
                sealed.unwrap()  # our close_notify stands behind the request
            plain.sendall(outgoing.read())
            plain.shutdown(socket.SHUT_WR)
            while chunk := plain.recv(65536):
                incoming.write(chunk)
            incoming.write_eof()
            assert sealed.read(65536).startswith(b"HTTP/1.1 200")


def test_a_slow_handshake_ends(start):
    broker = start("live", QUEEN_TLS_HANDSHAKE_TIMEOUT_MS="3000")
    sockets = [socket.create_connection((broker.host, broker.port), LONG) for _ in range(20)]
    for number, silent in enumerate(sockets):
        if number % 2:
            silent.sendall(b"\x16\x03\x01\x02\x00\x01")  # a record that never ends
    for silent in sockets:
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""
        silent.close()
    broker.wait_for("/livez", 200)

    def counted():
        with contextlib.suppress(OSError):
            return Scrape.of(broker).sum("queen_http_timeouts_total", kind="handshake") >= 20
        return False

    wait_until(counted, LONG, "the timeouts to be counted")


def test_handshakes_give_way_to_others(start):
    """Sockets that never shake hands do not keep others out."""
    broker = start("live", QUEEN_HTTP_CONNECTIONS_MAX="10", QUEEN_TLS_HANDSHAKE_TIMEOUT_MS="3600000", NUM_WORKERS="1")
    silent = [socket.create_connection((broker.host, broker.port), LONG) for _ in range(10)]
    wait_until(lambda: (reply := broker.try_get("/livez", timeout=LONG)) and reply.status == 200, LONG,
               "a handshake to be let in")
    for one in silent:
        one.close()


def test_too_many_connections_are_told_over_tls(start):
    broker = start(QUEEN_HTTP_CONNECTIONS_MAX="1", NUM_WORKERS="1")
    with connected(broker) as busy:
        busy.sendall(request_bytes("GET", "/api/v1/pop/queue/none?wait=true&timeout=300000"))

        def refused():
            with contextlib.suppress(OSError):
                return broker.get("/livez", timeout=LONG).status == 503
            return False

        wait_until(refused, LONG, "a 503")


def test_renegotiation_is_refused(start, authority):
    broker = start("live")
    # Its input stays open until it gives up by itself.
    with subprocess.Popen(["timeout", str(LONG), "openssl", "s_client", "-connect", f"{broker.host}:{broker.port}",
                           "-tls1_2", "-CAfile", authority.certificate], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as client:
        client.stdin.write(b"R\n")
        client.stdin.flush()
        said = client.stdout.read()
    assert b"RENEGOTIATING" in said and b"no renegotiation" in said, said[-2000:]
    assert broker.get("/livez").status == 200


def test_clients_come_back_without_a_full_handshake(start, authority):
    broker = start("live")
    context = authority.client(version=ssl.TLSVersion.TLSv1_2)
    with connected(broker, context) as first:
        assert not first.session_reused
        session = first.session
    with socket.create_connection((broker.host, broker.port), LONG) as plain:
        with context.wrap_socket(plain, server_hostname=broker.host, session=session) as again:
            assert again.session_reused
            again.sendall(request_bytes("GET", "/livez"))
            assert replies(again, 1)[0][0] == 200
    assert Scrape.of(broker).sum("queen_tls_handshakes_total", result="resumed") >= 1


def test_new_certificates_are_taken_and_bad_ones_are_not(start, authority):
    broker = start("live")
    assert peer_name(broker) == "broker"
    with connected(broker) as kept:
        with open(broker.env["QUEEN_TLS_CERT"], "r+", encoding="ascii") as file:
            file.truncate(100)
        wait_until(lambda: "cannot be used" in broker.log(), LONG, "a line about the bad file")
        assert peer_name(broker) == "broker"
        # A new pair, put in place as two files, in either order.
        certificate, key = authority.issue("other", "/CN=renewed")
        shutil.copy(key, broker.env["QUEEN_TLS_KEY"] + ".new")
        os.rename(broker.env["QUEEN_TLS_KEY"] + ".new", broker.env["QUEEN_TLS_KEY"])
        shutil.copy(certificate, broker.env["QUEEN_TLS_CERT"] + ".new")
        os.rename(broker.env["QUEEN_TLS_CERT"] + ".new", broker.env["QUEEN_TLS_CERT"])
        wait_until(lambda: peer_name(broker) == "renewed", LONG, "the new certificate")
        kept.sendall(request_bytes("GET", "/livez"))  # who came before goes on
        assert replies(kept, 1)[0][0] == 200
    scrape = Scrape.of(broker)
    assert scrape.sum("queen_tls_reloads_total", result="used") >= 1
    assert scrape.sum("queen_tls_reloads_total", result="failed") >= 1
    assert scrape.sum("queen_tls_certificate_expires_seconds") > 1_700_000_000


def sealed_by_hand(broker, receive_buffer=None):
    """(socket, records in, records out, TLS) after a handshake."""
    plain = socket.socket()
    if receive_buffer:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    plain.settimeout(LONG)
    plain.connect((broker.host, broker.port))
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    sealed = broker.tls.wrap_bio(incoming, outgoing, server_hostname=broker.host)
    while True:
        try:
            sealed.do_handshake()
            break
        except ssl.SSLWantReadError:
            plain.sendall(outgoing.read())
            incoming.write(plain.recv(65536))
    return plain, incoming, outgoing, sealed


def test_a_client_that_sends_nonsense_is_told(start):
    """By an alert, though a reply is owed and more nonsense stands behind; and nobody else hears of it."""
    broker = start()
    pid = broker.pid
    nonsense = b"\x17\x03\x03\x00\x20" + b"n" * 32
    plain, incoming, outgoing, sealed = sealed_by_hand(broker)
    sealed.write(request_bytes("GET", "/api/v1/pop/queue/none?wait=true&timeout=300000"))
    plain.sendall(outgoing.read() + nonsense * 20_000)
    while chunk := plain.recv(65536):
        incoming.write(chunk)
    with pytest.raises(ssl.SSLError, match="(?i)alert"):
        sealed.read(65536)
    plain.close()
    # The same while a reply is being written that the client does not take.
    payload = os.urandom(8_000_000).hex()
    assert broker.post("/api/v1/push", {"items": [{"queue": "q", "payload": payload}]}, timeout=LONG).status == 201
    for _ in range(3):
        plain, incoming, outgoing, sealed = sealed_by_hand(broker, 4096)
        sealed.write(request_bytes("GET", "/api/v1/pop/queue/q?autoAck=false&leaseTime=1&wait=true&timeout=60000"))
        plain.sendall(outgoing.read())
        plain.recv(1)  # it has begun
        plain.sendall(nonsense)
        with contextlib.suppress(OSError):
            while plain.recv(1 << 20):
                pass
        plain.close()
    assert broker.get("/livez").status == 200 and is_running(pid)


@pytest.mark.parametrize("mode", ["required", "optional"])
def test_client_certificates(start, authority, tmp_path, mode):
    (tmp_path / "clients").mkdir()
    clients = Authority(tmp_path / "clients", "clients")
    (tmp_path / "strangers").mkdir()
    strangers = Authority(tmp_path / "strangers", "strangers")
    broker = start(None, QUEEN_TLS_CLIENT_CA=clients.certificate, QUEEN_TLS_CLIENT_CERT=mode)
    broker.tls = authority.client(clients.issue("worker-7"))
    broker.wait_for("/livez", 200)
    assert handshake_fails(broker, authority.client(strangers.issue("worker-7")))
    assert handshake_fails(broker, authority.client()) is (mode == "required")


def test_many_clients_at_once(start):
    broker = start()
    failures = []

    def work(name):
        connection = http.client.HTTPSConnection(broker.host, broker.port, timeout=LONG, context=broker.tls)
        for number in range(30):
            body = json.dumps({"items": [{"queue": "many", "partition": name, "payload": number}]})
            connection.request("POST", "/api/v1/push", body)
            if connection.getresponse().read().find(b"queued") < 0:
                failures.append((name, number))
        connection.close()

    threads = [threading.Thread(target=work, args=(f"p{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    messages = broker.get("/api/v1/pop/queue/many?batch=1000&partitions=8&autoAck=true", timeout=LONG).json()["messages"]
    assert len(messages) == 240


def test_stopping_ends_tls_in_order(start):
    broker = start()
    with connected(broker) as idle:
        idle.sendall(request_bytes("GET", "/livez"))
        assert replies(idle, 1)[0][0] == 200
        assert broker.stop() == 0
        assert idle.recv(1) == b""  # a close_notify, or this would be an error


def test_self_signed_and_the_command_line(make_broker, postgres):
    broker = make_broker("--tls-self-signed", env={"DATABASE_URL": postgres.url})
    broker.start(until=None)
    file = os.path.join(broker.data_dir, "tls", "self-signed.crt")
    wait_until(lambda: os.path.exists(file), LONG, "a certificate")
    broker.tls = ssl.create_default_context(cafile=file)
    broker.wait_for("/readyz", 200)
    wait_until(lambda: f"curl --cacert {file} -X POST https://localhost:{broker.port}" in broker.log(), LONG, "a banner")
    environment = {"PATH": os.environ["PATH"], "QUEEN_URL": broker.url}

    def queen(*words, **env):
        return subprocess.run([binary(), *words], env={**environment, **env}, capture_output=True, text=True, timeout=LONG,
                              check=False)

    assert queen("push", "q", '{"n":1}', "--ca", file).returncode == 0
    popped = queen("pop", "q", "-o", "json", QUEEN_CA=file)
    assert popped.returncode == 0 and '"n":1' in popped.stdout.replace(" ", ""), popped
    distrustful = queen("queues")
    assert distrustful.returncode != 0 and "certificate" in distrustful.stderr, distrustful


@pytest.mark.parametrize("env,words", [
    ({"QUEEN_TLS_CERT": "/nowhere/x.crt", "QUEEN_TLS_KEY": "/nowhere/x.key"}, "/nowhere/x.crt"),
    ({"QUEEN_TLS_CERT": "/nowhere/x.crt"}, "QUEEN_TLS_KEY"),
    ({"QUEEN_TLS_CLIENT_CA": "/nowhere/x.crt"}, "QUEEN_TLS_CERT"),
])
def test_a_start_without_its_files_is_refused(make_broker, env, words):
    code, output = make_broker(env=env).run_to_end()
    assert code != 0 and words in output
