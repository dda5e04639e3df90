"""queen push and pop."""

import json
import subprocess

from support.broker import base_environment, binary


def test_push_one_and_pop_it(cli):
    pushed = cli("push", "one", '{"n": 1.50}', "--partition", "p", "--header", "k=v")
    assert pushed.out.startswith("1 queued  transaction ")
    popped = cli("pop", "one", "-o", "json").lines()
    assert [(m["data"], m["partition"], m["headers"], m["offset"]) for m in popped] == [({"n": 1.5}, "p", {"k": "v"}, 0)]
    cli("pop", "one", code=4)


def test_the_bytes_of_a_payload_survive(cli):
    for payload in ('{"n": 1.50, "b": 1e3}', "[1, 2]", '"[a,b]"', "{}"):
        cli("push", "bytes", payload)
        assert f'"data":{payload}}}' in cli("pop", "bytes", "-o", "json").out


def test_a_table_of_messages(cli):
    cli("push", "table", '"first"', "--transaction-id", "t1")
    cli("push", "table", '"second"', "--transaction-id", "t2")
    ended = cli("pop", "table", "-n", 5)
    assert ended.out.splitlines()[0].split() == ["PARTITION", "OFFSET", "CREATED", "TRIES", "TRANSACTION", "PAYLOAD"]
    assert [(row[1], row[-2], row[-1]) for row in ended.rows()] == [("0", "t1", '"first"'), ("1", "t2", '"second"')]
    assert "\033" not in ended.out


def test_a_second_push_of_a_transaction_is_a_duplicate(cli):
    first = cli("push", "twice", "1", "--transaction-id", "t", "-o", "json").json()
    second = cli("push", "twice", "1", "--transaction-id", "t", "-o", "json").json()
    assert (first["queued"], second["queued"], second["duplicate"]) == (1, 0, 1)
    assert first["messageId"] == second["messageId"] and first["transactionId"] == "t"


def test_push_lines_from_a_file_and_from_standard_input(cli, directory):
    path = f"{directory}/lines"
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f'{{"n": {n}}}\n' for n in range(3000))
    ended = cli("push", "bulk", "--file", path, "--batch", 200, "-o", "json").json()
    assert (ended["queued"], ended["failed"]) == (3000, 0)
    ended = cli("push", "bulk", stdin="1\n\n2\n", code=0)
    assert ended.out.startswith("2 queued  in ")
    numbers = [m["data"] for m in cli("pop", "bulk", "-n", 4000, "-o", "json").lines()]
    assert numbers == [{"n": n} for n in range(3000)] + [1, 2]


def test_what_is_no_file_fails(cli, directory):
    assert "Is a directory" in cli("push", "none", "--file", directory, code=1).err
    assert "No such file" in cli("push", "none", "--file", f"{directory}/none", code=1).err


def test_lines_of_any_length(cli, directory):
    """Also longer than what is read at once, and a last one without an end."""
    path = f"{directory}/long"
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(json.dumps("x" * length) for length in (0, 65533, 65534, 65535, 200_000, 1)))
    cli("push", "long", "--file", path)
    assert [len(m["data"]) for m in cli("pop", "long", "-n", 9, "-o", "json").lines()] == [0, 65533, 65534, 65535, 200_000, 1]


def test_envelopes(cli):
    lines = [{"payload": 1, "partition": "a", "transactionId": "t1", "headers": {"x": "y"}},
             {"payload": 2, "partition": "b", "queue": "elsewhere"}]
    cli("push", "enveloped", "--envelopes", stdin="".join(json.dumps(line) + "\n" for line in lines))
    message, = cli("pop", "enveloped", "-n", 9, "--partitions", 9, "-o", "json").lines()
    assert (message["partition"], message["transactionId"], message["headers"]) == ("a", "t1", {"x": "y"})
    assert cli("pop", "elsewhere", "-o", "json").lines()[0]["data"] == 2


def test_a_bad_line_fails_alone(cli):
    ended = cli("push", "some", stdin='1\n{"broken\n3\n', code=1)
    assert ended.out.startswith("2 queued, 1 failed")
    assert "line 2: the payload: Invalid JSON" in ended.err
    assert [m["data"] for m in cli("pop", "some", "-n", 9, "-o", "json").lines()] == [1, 3]


def test_a_payload_is_json_unless_it_is_text(cli):
    assert "--text pushes it as a string" in cli("push", "text", "not json", code=2).err
    cli("push", "text", 'not "json"', "--text")
    assert cli("pop", "text", "-o", "json").lines()[0]["data"] == 'not "json"'


def test_what_becomes_of_a_popped_message(cli, broker):
    cli("push", "fate", "1")
    first = cli("pop", "fate", "--then", "return", "-o", "json").lines()[0]
    assert first["retryCount"] == 0
    cli("pop", "fate", "--then", "fail", "--error", "no good")
    again = cli("pop", "fate", "--then", "keep", "-o", "json").lines()[0]
    assert (again["id"], again["retryCount"]) == (first["id"], 1)
    cli("pop", "fate", code=4)  # it is leased
    cli("seek", "__QUEUE_MODE__", "fate", "--offset", 0)
    cli("pop", "fate", "--then", "dlq", "--error", "dead now")
    letter, = broker.get("/api/v1/dlq?queue=fate").json()["messages"]
    assert letter["errorMessage"] == "dead now"


def test_pop_waits(cli, broker):
    waiting = subprocess.Popen([binary(), "pop", "later", "--wait", "30", "--url", broker.url, "-o", "json"],
                               stdout=subprocess.PIPE, env=base_environment())
    cli("push", "later", "7")
    out, _ = waiting.communicate(timeout=30)
    assert json.loads(out)["data"] == 7 and waiting.returncode == 0
