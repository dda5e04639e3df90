"""The exit codes of docs/cli.md: the same as a table and as JSON."""

import pytest

from support.cli import run_cli


@pytest.mark.parametrize("words", [
    ("queue", "show", "nosuch"), ("queue", "delete", "nosuch", "--yes"), ("queue", "clear", "nosuch", "--yes"),
    ("queue", "delete", "there", "--partition", "nosuch", "--yes"), ("queue", "clear", "there", "--partition", "nosuch", "--yes"),
    ("group", "show", "nosuch"), ("group", "delete", "nosuch", "--yes"), ("group", "show", "readers", "--queue", "nosuch"),
    ("group", "delete", "readers", "--queue", "nosuch", "--yes"), ("seek", "nosuch", "nosuch", "--to-end"),
    ("seek", "readers", "there", "--partition", "nosuch", "--to-end"), ("explain", "nosuch")], ids=" ".join)
@pytest.mark.parametrize("form", ["table", "json"])
def test_what_does_not_exist_ends_with_4(cli, words, form):
    cli("push", "there", "1")
    cli("pop", "there", "--group", "readers", "--then", "return")
    cli(*words, "-o", form, code=4)


@pytest.mark.parametrize("form", ["table", "json"])
def test_what_exists_ends_with_0(cli, form):
    cli("push", "known", "1")
    cli("pop", "known", "--group", "knowing", "--then", "keep")
    for words in (("group", "show", "knowing"), ("seek", "knowing", "known", "--to-end"), ("group", "delete", "knowing", "--yes"),
                  ("queue", "clear", "known", "--partition", "Default", "--yes"), ("queue", "clear", "known", "--yes"),
                  ("queue", "delete", "known", "--yes")):
        cli(*words, "-o", form)


@pytest.mark.parametrize("form", ["table", "json"])
def test_options_that_do_not_exist_are_a_wrong_command_line(cli, form):
    ended = cli("queue", "configure", "typed", "leasetime=60", "retryLimit=7", "-o", form, code=2)
    assert "these options do not exist: leasetime" in ended.err
    assert cli("queue", "show", "typed", "-o", "json").json()["options"]["retryLimit"] == 7


def test_a_limit_of_0_is_a_wrong_command_line(cli, broker):
    for words in (("dlq", "purge", "--yes"), ("dlq", "redrive", "--yes"), ("dlq", "list"), ("messages",), ("queues",)):
        assert "is not a whole number of at least 1" in cli(*words, "--limit", "0", code=2).err
    assert "is not a whole number from 1 to 10000" in cli("pop", "q", "-n", "0", code=2).err
    broker.post("/api/v1/push", {"items": [{"queue": "buried", "payload": n} for n in range(3)]})
    messages = broker.get("/api/v1/pop/queue/buried?batch=3").json()["messages"]
    broker.post("/api/v1/ack/batch", {"acknowledgments": [
        {key: m[key] for key in ("transactionId", "partitionId", "leaseId")} | {"status": "dlq"} for m in messages]})
    for limit in (0, -1):
        assert broker.post("/api/v1/dlq/redrive", {"queue": "buried", "limit": limit}).status == 400
        assert broker.request("DELETE", f"/api/v1/dlq?queue=buried&limit={limit}").status == 400
    assert broker.get("/api/v1/dlq?queue=buried").json()["total"] == 3


@pytest.mark.parametrize("token, code", [("s3cret\n", 0), ("two\nlines", 2), ("a b", 2)])
def test_a_token_is_one_word(cli, token, code):
    ended = run_cli("queues", url=cli.url, env={"QUEEN_TOKEN": token})
    assert ended.code == code
    assert code == 0 or "the token has a space, a line break or a control character in it" in ended.err


def test_without_a_database_it_is_3(make_broker, make_postgres):
    postgres = make_postgres()
    broker = make_broker(env=postgres.env()).start()
    broker.post("/api/v1/configure", {"queue": "q"})
    postgres.stop()
    broker.wait_for("/health", 503)
    for words in (("queues",), ("doctor",), ("queue", "show", "q"), ("doctor", "-o", "json")):
        ended = run_cli(*words, url=broker.url)
        assert ended.code == 3, ended
        assert str(postgres.port) not in ended.err and postgres.directory not in ended.err, ended
    postgres.start()
    broker.wait_for("/health", 200)
    assert run_cli("queue", "show", "q", url=broker.url).code == 0
