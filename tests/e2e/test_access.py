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
    broker = make_broker(env={"PG_HOST": "127.0.0.1", "PG_PORT": "1", "FILE_BUFFER_MAX_BYTES": "0"})
    broker.listens_on = host
    if not has_ipv6_loopback():
        reached = {**reached, "::1": False}
        if host and "::" in host:
            pytest.skip("there is no IPv6 here")
    broker.start(until="live")
    assert {address: listens(address, broker.port) for address in reached} == reached


@pytest.mark.parametrize("origins,allowed,vary", [
    ("", {ORIGIN: None, OTHER: None}, None),
    ("*", {ORIGIN: "*", OTHER: "*"}, None),
    (f"{ORIGIN}, http://localhost:3000", {ORIGIN: ORIGIN, "http://localhost:3000": "http://localhost:3000",
                                          OTHER: None}, "Origin"),
])
def test_origins(make_broker, origins, allowed, vary):
    """On every reply, errors and preflights included."""
    broker = make_broker(env={"PG_HOST": "127.0.0.1", "PG_PORT": "1", "FILE_BUFFER_MAX_BYTES": "0",
                              "QUEEN_CORS_ORIGINS": origins}).start(until="live")
    for origin, answer in allowed.items():
        for method, path, status in (("GET", "/livez", 200), ("GET", "/nowhere", 404),
                                     ("POST", "/api/v1/push", 400), ("OPTIONS", "/api/v1/push", 204)):
            reply = broker.request(method, path, headers={"Origin": origin})
            assert reply.status == status
            assert reply.headers.get("access-control-allow-origin") == answer, (origin, path)
            assert reply.headers.get("vary") == vary


def test_what_is_no_origin_is_refused_at_the_start(make_broker):
    for origins in ("example.org", "https://example.org/", "https://a.example;https://b.example x"):
        code, output = make_broker(env={"QUEEN_CORS_ORIGINS": origins}).run_to_end()
        assert code == 2 and "QUEEN_CORS_ORIGINS" in output, (origins, output)
