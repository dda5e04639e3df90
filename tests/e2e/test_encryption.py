"""encryptionEnabled: PostgreSQL never sees the payload, consumers see exactly what was pushed."""

import base64
import json
import os
import threading

import pytest

from support.process import wait_until

KEY = "11" * 32
OTHER = base64.b64encode(b"\x22" * 32).decode()
SECRET = "tell-nobody"
# Number text, repeated keys, escapes, spaces: bytes in = bytes out.
PAYLOAD = '{"who" : "%s", "n":1.10,"n":2e400,"u":"\\u0000\\ud800"}' % SECRET


@pytest.fixture
def start(make_broker, postgres):
    def make(key=KEY):
        env = {"DATABASE_URL": postgres.url, "NUM_WORKERS": "2"}
        return make_broker(env={**env, "QUEEN_ENCRYPTION_KEY": key} if key else env).start()
    return make


def switch(broker, queue, on):
    reply = broker.post("/api/v1/configure", {"queue": queue, "options": {"encryptionEnabled": on}})
    assert reply.status == 200
    assert reply.json()["options"]["encryptionEnabled"] is on


def push(broker, queue, *payloads, **fields):
    rest = "".join(f",{json.dumps(name)}:{json.dumps(value)}" for name, value in fields.items())
    items = ",".join(f'{{"queue":{json.dumps(queue)},"payload":{payload}{rest}}}' for payload in payloads)
    reply = broker.post("/api/v1/push", f'{{"items":[{items}]}}'.encode())
    assert reply.status == 201
    return [entry.get("error", entry["status"]) for entry in reply.json()]


def pop(broker, queue, query="autoAck=true"):
    reply = broker.get(f"/api/v1/pop/queue/{queue}?batch=1000&partitions=100&{query}")
    assert reply.status == 200
    return reply


def stored(postgres):
    """Everything of the log and the dead letters, as text."""
    return postgres.psql("SELECT coalesce(string_agg(s::text, ' '), '') FROM queen.segments s") + \
        postgres.psql("SELECT coalesce(string_agg(d::text, ' '), '') FROM queen.dead_letters d")


def test_postgresql_sees_no_payload_and_consumers_every_byte(start, postgres):
    broker = start()
    switch(broker, "q", True)
    fields = {"headers": {"h": "v"}, "traceId": "0190a6e2-5b1c-7abc-8def-0123456789ab", "transactionId": "t"}
    assert push(broker, "q", PAYLOAD, **fields) == ["queued"]
    assert push(broker, "q", PAYLOAD, **fields) == ["duplicate"]
    assert push(broker, "q", "null", '"%s"' % (SECRET * 100_000)) == ["queued"] * 2
    assert SECRET not in stored(postgres)
    # psql still reads the log
    assert postgres.psql("SELECT count(*) FROM queen.messages WHERE payload -> 'data' IS NOT NULL") == "3"
    assert postgres.psql("SELECT count(*) FROM queen.messages WHERE meta ->> 'encrypted' = 'true'") == "3"

    other = start()  # nothing in its memory
    for reader, group in ((broker, "a"), (other, "b")):
        reply = pop(reader, "q", f"consumerGroup={group}")
        assert f'"data":{PAYLOAD},'.encode() in reply.body
        messages = reply.json()["messages"]
        assert [message["data"] for message in messages[1:]] == [None, SECRET * 100_000]
        assert (messages[0]["headers"], messages[0]["traceId"], messages[0]["transactionId"]) == tuple(fields.values())
        assert "encrypted" not in messages[0] and "error" not in messages[0]


def test_a_push_after_configure_has_answered_is_encrypted_on_every_broker(start, postgres):
    here, there = start(), start()
    for broker in (here, there):  # both know the partitions, as not encrypted
        assert push(broker, "q", "0", "1") == ["queued"] * 2
    for number in range(20):
        on = number % 2 == 0
        switch(here, "q", on)
        secret = f"secret-{number}"
        assert push(there, "q", f'"{secret}"') == ["queued"]
        assert push(here, "q", f'"{secret}"', partition="other") == ["queued"]
        assert (secret not in stored(postgres)) is on
    expected = {0, 1} | {f"secret-{number}" for number in range(20)}
    assert {message["data"] for message in pop(there, "q").json()["messages"]} == expected


def test_switching_under_load_stores_nothing_plain_and_loses_nothing(start, postgres):
    brokers = [start(), start()]
    done = threading.Event()
    queued = {f"first-{number}" for number in range(4)}
    for number in range(4):  # what a broker knows of a partition from here on is "not encrypted"
        assert push(brokers[number % 2], "q", f'"first-{number}"', partition=f"p{number}") == ["queued"]

    def produce(broker, name):
        number = 0
        while not done.is_set():
            number += 1
            payloads = [f'"{name}-{number}-{n}"' for n in range(3)]
            assert push(broker, "q", *payloads, partition=name) == ["queued"] * 3
            queued.update(json.loads(payload) for payload in payloads)

    threads = [threading.Thread(target=produce, args=(brokers[n % 2], f"p{n}")) for n in range(4)]
    for thread in threads:
        thread.start()
    for number in range(30):
        switch(brokers[number % 2], "q", number % 2 == 0)
    switch(brokers[0], "q", True)
    for number in range(4):  # partitions they have pushed to before
        assert push(brokers[number % 2], "q", f'"{SECRET}-{number}"', partition=f"p{number}") == ["queued"]
    done.set()
    for thread in threads:
        thread.join()
    assert SECRET not in stored(postgres)
    queued |= {f"{SECRET}-{number}" for number in range(4)}
    seen = []
    while len(seen) < len(queued):
        seen += [message["data"] for message in pop(brokers[0], "q").json()["messages"]]
    assert set(seen) == queued and len(seen) == len(queued)


def test_restart_new_key_and_switched_off(start, postgres):
    broker = start()
    switch(broker, "q", True)
    assert push(broker, "q", f'"{SECRET}-1"') == ["queued"]
    assert broker.stop() == 0
    broker = start(f"{OTHER}, {KEY}")
    assert push(broker, "q", f'"{SECRET}-2"') == ["queued"]
    assert broker.stop() == 0
    assert postgres.psql("SELECT count(DISTINCT payload ->> 'key') FROM queen.messages") == "2"
    broker = start(f"{OTHER},{KEY}")
    switch(broker, "q", False)
    assert push(broker, "q", f'"{SECRET}-3"') == ["queued"]
    assert f"{SECRET}-3" in stored(postgres) and f"{SECRET}-2" not in stored(postgres)
    assert [message["data"] for message in pop(broker, "q").json()["messages"]] == [f"{SECRET}-{n}" for n in (1, 2, 3)]


def test_keys_rotate(make_broker, postgres):
    """Each key in turn is the new one; what older ones have encrypted is read as long as they are named."""
    keys = [f"{number:02x}" * 32 for number in range(1, 5)]

    def start_with(key, old=()):
        return make_broker(env={"DATABASE_URL": postgres.url, "QUEEN_ENCRYPTION_KEY": key,
                                "QUEEN_ENCRYPTION_KEYS_OLD": ",".join(old)}).start()

    for number, key in enumerate(keys):
        broker = start_with(key, keys[:number])
        switch(broker, "q", True)
        assert push(broker, "q", f'"{SECRET}-{number}"') == ["queued"]
        messages = pop(broker, "q", f"consumerGroup=g{number}").json()["messages"]
        assert [message["data"] for message in messages] == [f"{SECRET}-{n}" for n in range(number + 1)]
        assert broker.stop() == 0
    assert postgres.psql("SELECT count(DISTINCT payload ->> 'key') FROM queen.messages") == "4"
    # One is missing: its message says so, the others are read.
    broker = start_with(keys[3], [keys[0], keys[2]])
    messages = pop(broker, "q", "consumerGroup=late").json()["messages"]
    assert [message["data"] for n, message in enumerate(messages) if n != 1] == [f"{SECRET}-{n}" for n in (0, 2, 3)]
    assert "key that this broker does not have" in messages[1]["error"]
    # Before the swap: the new key is read everywhere and used nowhere.
    early = start_with(keys[2], [keys[3], keys[0], keys[1]])
    assert "error" not in str(pop(early, "q", "consumerGroup=early").json()["messages"])


def test_old_keys_alone_or_bad_ones_stop_the_start(make_broker, postgres):
    env = {"DATABASE_URL": postgres.url, "QUEEN_ENCRYPTION_KEYS_OLD": KEY}
    code, output = make_broker(env=env).run_to_end()
    assert code != 0 and "QUEEN_ENCRYPTION_KEY must be given" in output
    code, output = make_broker(env={**env, "QUEEN_ENCRYPTION_KEY": KEY, "QUEEN_ENCRYPTION_KEYS_OLD": "hunter2"}).run_to_end()
    assert code != 0 and "QUEEN_ENCRYPTION_KEYS_OLD" in output and "hunter2" not in output


def test_transactions_cycles_and_dead_letters(start, postgres):
    broker = start()
    assert push(broker, "source", "1", "2") == ["queued"] * 2
    transaction = {"operations": [{"type": "push", "items": [{"queue": "sink", "payload": f"{SECRET}-t"}]}]}
    switch(broker, "sink", True)
    assert broker.post("/api/v1/transaction", transaction).json()["success"]
    popped = pop(broker, "source", "consumerGroup=g").json()
    query = broker.post("/streams/v1/queries", {"name": "s", "source_queue": "source", "config_hash": "h"}).json()
    cycle = broker.post("/streams/v1/cycle", {
        "query_id": query["query_id"], "partition_id": popped["partitionId"], "consumer_group": "g", "state_ops": [],
        "push_items": [{"queue": "sink", "payload": f"{SECRET}-c"}],
        "ack": {"transactionId": popped["messages"][1]["transactionId"], "leaseId": popped["leaseId"]}}).json()
    assert cycle["success"]
    popped = pop(broker, "sink", "leaseTime=60").json()
    assert [message["data"] for message in popped["messages"]] == [f"{SECRET}-t", f"{SECRET}-c"]
    acks = [{"transactionId": m["transactionId"], "partitionId": m["partitionId"], "leaseId": popped["leaseId"],
             "status": "dlq", "error": "no"} for m in popped["messages"]]
    assert all(ack["dlq"] for ack in broker.post("/api/v1/ack/batch", {"acknowledgments": acks}).json())
    assert SECRET not in stored(postgres)
    letters = broker.get("/api/v1/dlq?queue=sink").json()["messages"]
    assert sorted(letter["data"] for letter in letters) == [f"{SECRET}-c", f"{SECRET}-t"]


def test_without_the_right_key(start, postgres):
    broker = start()
    switch(broker, "q", True)
    assert push(broker, "q", f'"{SECRET}"') == ["queued"]
    for key in (None, OTHER):
        stranger = start(key)
        message = pop(stranger, "q", f"consumerGroup={key and 'wrong' or 'none'}").json()["messages"][0]
        assert "key that this broker does not have" in message["error"]
        assert set(message["data"]) == {"key", "nonce", "tag", "data"}
        assert stranger.get("/health").status == 200
    none = start(None)
    no_key = "The queue is encrypted, and this broker has no key"
    assert push(none, "q", f'"{SECRET}-2"') == [no_key]
    items = [{"queue": "free", "payload": 1}, {"queue": "q", "payload": 2}, {"queue": "free", "payload": 3}]
    reply = none.post("/api/v1/push", {"items": items}).json()
    assert [entry["status"] for entry in reply] == ["queued", "failed", "queued"]
    refused = none.post("/api/v1/transaction", {"operations": [{"type": "push", "items": items}]}).json()
    assert (refused["success"], refused["error"]) == (False, no_key)
    reply = none.post("/api/v1/configure", {"queue": "x", "options": {"encryptionEnabled": True}})
    assert reply.status == 400 and "QUEEN_ENCRYPTION_KEY" in reply.json()["error"]
    switch(none, "q", False)
    assert push(none, "q", '"open"') == ["queued"]
    assert [m["data"] for m in pop(broker, "q", "consumerGroup=right").json()["messages"]] == [SECRET, "open"]


def test_a_changed_line_is_noticed_and_stops_nobody(start, postgres):
    broker = start()
    switch(broker, "q", True)
    assert push(broker, "q", "1", "2", partition="a") == ["queued"] * 2
    assert push(broker, "q", "3", partition="b") == ["queued"]
    postgres.psql("UPDATE queen.segments SET payloads = split_part(payloads, E'\\n', 1) || E'\\n' || "
                   "(SELECT payloads FROM queen.segments WHERE count = 1) WHERE count = 2 RETURNING 1")
    fresh = start()  # with nothing in its memory
    reply = fresh.get("/api/v1/pop/queue/q/partition/a?batch=10&autoAck=true").json()["messages"]
    assert reply[0]["data"] == 1 and "error" not in reply[0]
    assert "changed" in reply[1]["error"]
    assert fresh.get("/api/v1/pop/queue/q/partition/b?autoAck=true").json()["messages"][0]["data"] == 3


def test_the_file_buffer_holds_no_payload_either(start, postgres):
    broker = start()
    switch(broker, "q", True)
    switch(broker, "plain", False)
    assert push(broker, "q", "0") + push(broker, "plain", "0") == ["queued"] * 2
    postgres.stop("immediate")
    wait_until(lambda: broker.get("/health").status == 503, 60)
    secrets = [f'"{SECRET}-{number}"' for number in range(3)]
    assert push(broker, "q", secrets[0], headers={"h": "v"}) == ["buffered"]
    assert push(broker, "q", secrets[1], partition="never seen") == ["buffered"]
    assert push(broker, "unknown", secrets[2]) == ["buffered"]
    assert push(broker, "plain", '"to be seen"') == ["buffered"]
    files = b""
    for directory, _, names in os.walk(broker.data_dir):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                files += file.read()
    assert SECRET.encode() not in files and b"to be seen" in files
    broker.kill9()
    postgres.start()
    broker.start()
    wait_until(lambda: postgres.psql("SELECT count(*) FROM queen.messages") == "6", 60)
    assert f"{SECRET}-0" not in stored(postgres) and f"{SECRET}-1" not in stored(postgres)
    messages = pop(broker, "q").json()["messages"]
    assert {message["data"] for message in messages} == {0, f"{SECRET}-0", f"{SECRET}-1"}
    assert [message["headers"] for message in messages if message["data"] == f"{SECRET}-0"] == [{"h": "v"}]
    assert [message["data"] for message in pop(broker, "unknown").json()["messages"]] == [f"{SECRET}-2"]
    assert postgres.psql("SELECT count(*) FROM queen.messages WHERE queue = 'unknown' AND meta IS NULL") == "1"


def test_a_bad_key_stops_the_start(make_broker, postgres):
    broker = make_broker(env={"DATABASE_URL": postgres.url, "QUEEN_ENCRYPTION_KEY": "hunter2"})
    code, output = broker.run_to_end()
    assert code != 0
    assert "QUEEN_ENCRYPTION_KEY" in output and "64 hexadecimal digits" in output
    assert "hunter2" not in output
