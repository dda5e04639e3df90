"""docs/http-errors.md lists every code with its status, and replies are what the page says."""

import os
import re

from support.broker import REPOSITORY

REFUSED = "Connection refused (ECONNREFUSED)"


def known_codes():
    """(code, HTTP status, may be sent again) of those in src/base/error_codes.h that are a reply's."""
    with open(os.path.join(REPOSITORY, "src", "base", "error_codes.h"), encoding="utf-8") as file:
        rows = re.findall(r'X\(k\w+, "(\w+)", "\w*", (\d+), (true|false)', file.read())
    return {(name, int(status), again == "true") for name, status, again in rows if status != "200"}


def documented_codes():
    """The same of the page's table."""
    with open(os.path.join(REPOSITORY, "docs", "http-errors.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (yes|no) \|", file.read(), re.MULTILINE)
    return {(name, int(status), again == "yes") for status, name, again in rows}


def test_the_page_lists_every_code():
    assert documented_codes() == known_codes()


def test_the_sentence_comes_first_and_a_code_with_it(make_broker, make_postgres):
    postgres = make_postgres()
    postgres.stop()
    broker = make_broker("--file-buffer-max-bytes", "0", env=postgres.env()).start(until="live")
    replies = [broker.get("/health"), broker.get("/readyz"), broker.get("/api/v1/pop/queue/q"),
               broker.post("/api/v1/push", {"items": [{"queue": "q", "payload": 1}]}, timeout=60)]
    for reply in replies:
        assert reply.status == 503, reply
        sentence, _, rest = reply.json()["error"].partition(": " + REFUSED)
        assert len(sentence) > 10 and REFUSED not in sentence and rest == "", reply
        assert re.fullmatch("[a-z_]+", reply.json()["code"])
    refused = broker.post("/api/v1/push", b"{")
    assert refused.status == 400 and refused.json()["code"] == "invalid_request"
    assert REFUSED not in refused.json()["error"]
