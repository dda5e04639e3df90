"""Who reaches a broker: this machine only, and no other origin's web page, unless the settings say more."""

import socket

import pytest

ORIGIN, OTHER = "https://app.example", "https://evil.example"


def has_ipv6_loopback():
    """Not every machine has."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def listens(address, port):
    """Does anybody take connections there?"""
    try:
        socket.create_connection((address, port), 30).close()
        return True
    except OSError:
        return False


@pytest.mark.parametrize("host,reached", [
    (None, {"127.0.0.1": True, "127.0.0.2": False, "::1": True}),
    ("127.0.0.2,127.0.0.1", {"127.0.0.1": True, "127.0.0.2": True, "::1": False}),
    ("0.0.0.0", {"127.0.0.1": True, "127.0.0.2": True, "::1": False}),
    ("0.0.0.0,::", {"127.0.0.1": True, "127.0.0.2": True, "::1": True}),
])
def test_addresses(make_broker, host, reached):
    """PostgreSQL is not needed to be reached."""
    broker = make_broker(env={"PG_HOST": "127.0.0.1", "PG_PORT": "1", "FILE_BUFFER_MAX_BYTES": "0",
                              "QUEEN_ALLOW_ANONYMOUS": "true"})
    broker.listens_on = host
    if not has_ipv6_loopback():
        reached = {**reached, "::1": False}
        if host and "::" in host:
            pytest.skip("there is no IPv6 here")
    broker.start(until="live")
    assert {address: listens(address, broker.port) for address in reached} == reached


ASKED = (("GET", "/livez", 200), ("GET", "/nowhere", 404), ("POST", "/api/v1/push", 400),
         ("OPTIONS", "/api/v1/push", 204))


def start_alone(make_broker, **env):
    """PostgreSQL is not needed to be asked."""
    return make_broker(env={"PG_HOST": "127.0.0.1", "PG_PORT": "1", "FILE_BUFFER_MAX_BYTES": "0", **env}).start(until="live")


@pytest.mark.parametrize("origins,allowed,vary", [
    ("", {ORIGIN: None, OTHER: None}, None),
    ("*", {ORIGIN: "*", OTHER: "*"}, None),
    (f"{ORIGIN}, http://localhost:3000", {ORIGIN: ORIGIN, "http://localhost:3000": "http://localhost:3000",
                                          OTHER: None}, "Origin"),
])
def test_origins(make_broker, origins, allowed, vary):
    """On every reply, errors and preflights included; pages that are not named are refused."""
    broker = start_alone(make_broker, QUEEN_CORS_ORIGINS=origins)
    for origin, answer in allowed.items():
        for method, path, status in ASKED:
            reply = broker.request(method, path, headers={"Origin": origin})
            refused = answer is None and status in (200, 400)
            assert reply.status == (403 if refused else status), (origin, path)
            assert reply.headers.get("access-control-allow-origin") == answer, (origin, path)
            assert reply.headers.get("vary") == vary
            if refused:
                assert reply.json()["code"] == "forbidden" and "QUEEN_CORS_ORIGINS" in reply.json()["error"]


def test_preflights(make_broker):
    broker = start_alone(make_broker, QUEEN_CORS_ORIGINS=ORIGIN)
    for origin, answer in ((ORIGIN, ORIGIN), (OTHER, None), ("null", None)):
        reply = broker.request("OPTIONS", "/api/v1/push", headers={
            "Origin": origin, "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type"})
        assert reply.status == 204 and reply.headers.get("access-control-allow-origin") == answer
        assert "POST" in reply.headers["access-control-allow-methods"]


def test_pages_of_the_broker_itself(make_broker):
    broker = start_alone(make_broker)
    own = f"http://127.0.0.1:{broker.port}"
    assert broker.get("/livez", headers={"Origin": own}).status == 200
    for foreign in ("null", f"http://127.0.0.1:{broker.port + 1}", "http://127.0.0.1", "https://evil.example"):
        assert broker.get("/livez", headers={"Origin": foreign}).status == 403, foreign


@pytest.mark.parametrize("hosts,ours,foreign", [
    ("", ("localhost", "127.0.0.1:6632", "[::1]:6632", "10.0.0.7", "queen", "queen:6632", socket.gethostname()),
     ("evil.example", "evil.example:6632", "127.0.0.1.evil.example", "localhost.evil.example")),
    ("queen.example.org, .svc.cluster.local", ("queen.example.org:6632", "a.b.svc.cluster.local", "localhost"),
     ("example.org", "x.queen.example.org", "evil.example")),
    ("*", ("evil.example", "localhost"), ()),
])
def test_names(make_broker, hosts, ours, foreign):
    """A page whose name was made to lead here (DNS rebinding) gets nothing, whatever it asks."""
    broker = start_alone(make_broker, QUEEN_HOSTS=hosts)
    for name in ours:
        assert broker.get("/livez", headers={"Host": name}).status == 200, name
    for name in foreign:
        for method, path in (("GET", "/livez"), ("POST", "/api/v1/push"), ("GET", "/api/v1/pop/queue/q"),
                             ("DELETE", "/api/v1/resources/queues/q")):
            reply = broker.request(method, path, headers={"Host": name})
            assert reply.status == 403 and "QUEEN_HOSTS" in reply.json()["error"], (name, path)


def test_what_is_no_name_is_refused_at_the_start(make_broker):
    for hosts in ("http://example.org", "example.org:80", "*.example.org"):
        code, output = make_broker(env={"QUEEN_HOSTS": hosts}).run_to_end()
        assert code == 2 and "QUEEN_HOSTS" in output, (hosts, output)


def test_what_is_no_origin_is_refused_at_the_start(make_broker):
    for origins in ("example.org", "https://example.org/", "https://a.example;https://b.example x"):
        code, output = make_broker(env={"QUEEN_CORS_ORIGINS": origins}).run_to_end()
        assert code == 2 and "QUEEN_CORS_ORIGINS" in output, (origins, output)
