"""Pushes while PostgreSQL is away: buffered on the broker's disk, delivered once and in order."""

import glob
import json
import os
import threading

from support.process import wait_until

QUEUE = "buffer.orders"


def push(broker, items, **options):
    return broker.post("/api/v1/push", {"items": items}, **options)


def item(partition, number, txn=None, **fields):
    made = {"queue": QUEUE, "partition": partition, "payload": {"n": number}, **fields}
    if txn:
        made["transactionId"] = txn
    return made


def buffered(broker, items):
    """Pushes and asserts that everything was buffered; returns the transactionIds."""
    reply = push(broker, items)
    assert reply.status == 201, reply
    outcomes = reply.json()
    assert [outcome["status"] for outcome in outcomes] == ["buffered"] * len(items), outcomes
    return [outcome["transaction_id"] for outcome in outcomes]


def take_all(broker, count, seconds=60):
    """Pops until `count` messages have come and nothing is left: partition -> [(n, txn)]."""
    taken = {}
    total = 0

    def step():
        nonlocal total
        reply = broker.get(f"/api/v1/pop/queue/{QUEUE}?batch=1000&partitions=100&autoAck=true"
                           "&wait=true&timeout=500", timeout=60)
        if reply.status == 200:
            for message in reply.json()["messages"]:
                taken.setdefault(message["partition"], []).append(
                    (message["data"]["n"], message["transactionId"]))
                total += 1
        return total >= count and reply.status == 204
    wait_until(step, seconds, f"{count} messages, {total} came")
    return taken


def numbers(taken):
    return {partition: [n for n, _ in messages] for partition, messages in taken.items()}


def buffer_files(broker):
    return sorted(glob.glob(os.path.join(broker.data_dir, "buffer", "*.log")))


def failed_files(broker):
    return sorted(glob.glob(os.path.join(broker.data_dir, "buffer", "failed-*")))


def wait_drained(broker):
    wait_until(lambda: not buffer_files(broker), 60, "the buffer to be drained")


def direct(broker, partition, number):
    """A push that PostgreSQL takes."""
    outcome = push(broker, [item(partition, number)]).json()[0]
    assert outcome["status"] == "queued", outcome


def test_pushes_are_buffered_and_drained(make_broker, postgres):
    broker = make_broker(env=postgres.env()).start()
    direct(broker, "a", 0)
    postgres.stop()
    broker.wait_for("/readyz", 503)
    txns = buffered(broker, [item("a", 1, "first"), item("a", 2), item("b", 0)])
    assert txns[0] == "first"
    assert len(txns[1]) == 36 and txns[1][14] == "7", "a UUIDv7 of the broker's"
    buffered(broker, [item("a", 3, "first")])  # a duplicate, which only the replay finds
    buffered(broker, [item("a", 4, traceId="0190c4a0-0000-7000-8000-000000000001",
                           headers={"k": "v"})])
    failed = push(broker, [item("a", 9, "x" * 300), item("a", 5)]).json()
    assert [outcome["status"] for outcome in failed] == ["failed", "buffered"]
    assert set(failed[1]) == {"index", "transaction_id", "status", "queue", "partition"}
    postgres.start()
    wait_drained(broker)
    direct(broker, "a", 6)
    taken = take_all(broker, 7)
    assert numbers(taken) == {"a": [0, 1, 2, 4, 5, 6], "b": [0]}
    assert [txn for _, txn in taken["a"][1:3]] == txns[:2]
    assert not failed_files(broker)


def test_a_transaction_does_not_overtake_buffered_messages(make_broker, postgres):
    broker = make_broker(env=postgres.env()).start()
    direct(broker, "a", 0)
    # The replay of the buffered message, and nothing else, fails for now.
    postgres.psql("CREATE FUNCTION queen.not_yet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                  "IF NEW.payloads LIKE '%1%' THEN RAISE 'not yet' USING ERRCODE = '42501'; "
                  "END IF; RETURN NEW; END $$")
    postgres.psql("CREATE TRIGGER not_yet BEFORE INSERT ON queen.segments FOR EACH ROW "
                  "EXECUTE FUNCTION queen.not_yet()")
    postgres.stop()
    broker.wait_for("/readyz", 503)
    buffered(broker, [item("a", 1)])
    postgres.start()
    broker.wait_for("/readyz", 200)
    transaction = {"operations": [{"type": "push", "items": [item("a", 2)]}]}
    refused = broker.post("/api/v1/transaction", transaction)
    assert refused.status == 503 and "file buffer" in refused.json()["error"], refused
    elsewhere = {"operations": [{"type": "push", "items": [item("b", 0)]}]}
    assert broker.post("/api/v1/transaction", elsewhere).status == 200
    postgres.psql("DROP TRIGGER not_yet ON queen.segments")
    wait_until(lambda: broker.post("/api/v1/transaction", transaction).status == 200, 60,
               "the transaction to be taken")
    assert numbers(take_all(broker, 4)) == {"a": [0, 1, 2], "b": [0]}


def test_kill_and_restart_while_postgresql_is_away(make_broker, postgres):
    """A new broker on the same directory answers `buffered`, behind what the first had taken."""
    broker = make_broker("--file-buffer-file-bytes", "8192", env=postgres.env()).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    for number in range(200):
        buffered(broker, [item("a", number), item(f"p{number % 7}", number, f"txn {number}")])
    assert len(buffer_files(broker)) > 2, "it rotates"
    broker.kill9()
    broker.start(until="live")
    for number in range(200, 250):
        buffered(broker, [item("a", number), item(f"p{number % 7}", number, f"txn {number}")])
    broker.kill9()
    broker.start(until="live")
    postgres.start()
    expected = {f"p{i}": [n for n in range(250) if n % 7 == i] for i in range(7)}
    expected["a"] = list(range(250))
    assert numbers(take_all(broker, 500)) == expected
    wait_drained(broker)
    direct(broker, "a", 250)


def test_a_full_buffer_refuses_and_recovers(make_broker, postgres):
    broker = make_broker("--file-buffer-file-bytes", "8192", "--file-buffer-max-bytes", "65536",
                         env=postgres.env()).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    accepted = 0
    while True:
        reply = push(broker, [item("a", accepted, text="x" * 500)])
        if reply.status != 201:
            break
        accepted += 1
    assert reply.status == 503
    assert "Connection refused (ECONNREFUSED)" in reply.json()["error"]
    assert "full" in reply.json()["error"]
    assert int(reply.headers["retry-after"]) > 0
    assert accepted > 50
    broker.kill9()
    broker.start(until="live")
    wait_until(lambda: push(broker, [item("a", accepted)]).status == 503, 10, "it is still full")
    postgres.start()
    assert numbers(take_all(broker, accepted)) == {"a": list(range(accepted))}
    wait_drained(broker)
    direct(broker, "a", accepted)


def test_damage_is_set_aside_and_the_rest_is_replayed(make_broker, postgres):
    broker = make_broker(env=postgres.env()).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    for number in range(20):
        buffered(broker, [item("a", number)])
    broker.kill9()
    path = buffer_files(broker)[0]
    with open(path, "r+b") as file:
        content = file.read()
        place = content.index(b'{"n":7}') if b'{"n":7}' in content else content.index(b'{"n": 7}')
        file.seek(place)
        file.write(b"X")
        file.seek(0, os.SEEK_END)
        file.write(content[-40:-3])  # a record that was not finished
    broker.start(until="live")
    assert "damaged and was set aside" in broker.log()
    assert len(failed_files(broker)) == 2
    with open(failed_files(broker)[0], "rb") as file:
        assert b"7}" in file.read()
    postgres.start()
    assert numbers(take_all(broker, 19)) == {"a": [n for n in range(20) if n != 7]}
    wait_drained(broker)
    assert len(failed_files(broker)) == 2


def test_a_message_that_postgresql_refuses_blocks_nobody(make_broker, postgres):
    broker = make_broker(env=postgres.env()).start()
    direct(broker, "a", 0)
    postgres.psql("ALTER TABLE queen.segments ADD CONSTRAINT no_poison "
                  "CHECK (payloads NOT LIKE '%poison%')")
    postgres.stop()
    broker.wait_for("/readyz", 503)
    buffered(broker, [item("a", 1)])
    poison = dict(item("a", 2, "bad one"), payload={"n": "poison"})
    buffered(broker, [poison])
    buffered(broker, [item("a", 3)])
    postgres.start()
    assert numbers(take_all(broker, 3)) == {"a": [0, 1, 3]}
    wait_drained(broker)
    with open(failed_files(broker)[0], encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    assert [(line["transactionId"], line["payload"], line["queue"], line["partition"])
            for line in lines] == [("bad one", {"n": "poison"}, QUEUE, "a")]
    direct(broker, "a", 4)


def test_what_is_nobodys_fault_is_tried_until_it_works(make_broker, postgres):
    """A permission that is missing is no reason to give buffered messages up."""
    broker = make_broker(env=postgres.env()).start()
    direct(broker, "a", 0)
    postgres.psql("REVOKE INSERT ON queen.segments FROM queen", role="postgres")
    postgres.stop()
    broker.wait_for("/readyz", 503)
    buffered(broker, [item("a", 1)])
    postgres.start()
    wait_until(lambda: "PostgreSQL refuses buffered messages" in broker.log(), 60, "a refusal")
    assert buffer_files(broker) and not failed_files(broker)
    postgres.psql("GRANT INSERT ON queen.segments TO queen", role="postgres")
    assert numbers(take_all(broker, 2)) == {"a": [0, 1]}
    wait_drained(broker)


def test_a_directory_that_cannot_be_used_stops_the_start(make_broker, postgres, directory):
    path = os.path.join(directory, "file")
    with open(path, "w", encoding="utf-8"):
        pass
    code, output = make_broker("--file-buffer-dir", path, env=postgres.env()).run_to_end()
    assert code != 0
    assert path in output and "FILE_BUFFER_DIR" in output


def test_two_brokers_do_not_share_a_directory(make_broker, postgres, directory):
    path = os.path.join(directory, "buffer")
    first = make_broker("--file-buffer-dir", path, env=postgres.env()).start()
    code, output = make_broker("--file-buffer-dir", path, env=postgres.env()).run_to_end()
    assert code != 0
    assert "another broker uses it" in output and str(first.pid) in output
    direct(first, "a", 0)


def test_without_a_buffer_a_push_is_refused(make_broker, postgres):
    broker = make_broker("--file-buffer-max-bytes", "0", env=postgres.env()).start()
    postgres.stop()
    broker.wait_for("/readyz", 503)
    assert push(broker, [item("a", 0)]).status == 503
    assert not os.path.exists(os.path.join(broker.data_dir, "buffer"))
    postgres.start()
    broker.wait_for("/readyz", 200)
    direct(broker, "a", 0)


# ---- in doubt: sent, and the answer lost


def stop_answers(proxy, postgres, broker, items):
    """Pushes; the batch commits, and nothing of that reaches the broker. Returns the push."""
    before = int(postgres.psql("SELECT coalesce(sum(count), 0) FROM queen.segments"))
    proxy.freeze(replies_only=True)
    replies = []
    thread = threading.Thread(
        target=lambda: replies.append(push(broker, items, timeout=90)))
    thread.start()
    wait_until(lambda: int(postgres.psql("SELECT coalesce(sum(count), 0) FROM queen.segments"))
               == before + len(items), 30, "the commit")
    proxy.refuse()
    proxy.cut()
    assert not replies
    return thread, replies


def make_gated(make_broker, make_proxy, postgres, *args):
    proxy = make_proxy(postgres.host, postgres.port)
    return proxy, make_broker(*args, env=postgres.env(proxy.host, proxy.port)).start()


def test_in_doubt_with_transaction_ids_is_buffered_and_not_doubled(make_broker, make_proxy,
                                                                   postgres):
    proxy, broker = make_gated(make_broker, make_proxy, postgres)
    direct(broker, "a", 0)
    thread, replies = stop_answers(proxy, postgres, broker, [item("a", 1, "one"),
                                                             item("a", 2, "two")])
    thread.join(60)
    assert [outcome["status"] for outcome in replies[0].json()] == ["buffered"] * 2
    buffered(broker, [item("a", 3)])
    proxy.forward()
    wait_drained(broker)
    direct(broker, "a", 4)
    assert numbers(take_all(broker, 5)) == {"a": [0, 1, 2, 3, 4]}


def test_in_doubt_without_transaction_id_is_told_when_postgresql_is_back(make_broker, make_proxy,
                                                                         postgres):
    proxy, broker = make_gated(make_broker, make_proxy, postgres)
    direct(broker, "a", 0)
    thread, replies = stop_answers(proxy, postgres, broker, [item("a", 1)])
    buffered(broker, [item("b", 0)])
    buffered(broker, [item("a", 2)])  # behind the one in doubt, and does not wait for it
    assert not replies
    proxy.forward()
    thread.join(60)
    assert [outcome["status"] for outcome in replies[0].json()] == ["queued"]
    wait_drained(broker)
    assert numbers(take_all(broker, 4)) == {"a": [0, 1, 2], "b": [0]}


def test_in_doubt_and_not_committed_goes_ahead_of_what_was_buffered_since(make_broker, make_proxy,
                                                                          postgres):
    proxy, broker = make_gated(make_broker, make_proxy, postgres)
    direct(broker, "a", 0)
    direct(broker, "b", 0)
    # Its backend waits for a lock, and ends without having committed.
    postgres.psql("CREATE FUNCTION queen.stall() RETURNS trigger LANGUAGE plpgsql AS "
                  "$$ BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NEW; END $$")
    postgres.psql("CREATE TRIGGER stall BEFORE INSERT ON queen.segments FOR EACH ROW "
                  "EXECUTE FUNCTION queen.stall()")
    holder = threading.Thread(target=lambda: postgres.psql(
        "BEGIN; SELECT pg_advisory_xact_lock(77); SELECT pg_sleep(600)", check=False))
    holder.start()
    waiting = ("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77 AND "
               "NOT granted")
    wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' "
                                     "AND objid = 77") == "1", 30, "the holder")
    replies = []
    thread = threading.Thread(target=lambda: replies.append(push(broker, [item("a", 1)],
                                                                 timeout=90)))
    thread.start()
    wait_until(lambda: postgres.psql(waiting) == "1", 30, "the push to wait")
    proxy.refuse()
    proxy.cut()
    buffered(broker, [item("a", 2)])
    postgres.terminate_backends()
    holder.join(60)
    postgres.psql("DROP TRIGGER stall ON queen.segments")
    proxy.forward()
    thread.join(60)
    assert [outcome["status"] for outcome in replies[0].json()] == ["queued"]
    wait_drained(broker)
    assert numbers(take_all(broker, 4)) == {"a": [0, 1, 2], "b": [0]}


def test_in_doubt_without_transaction_id_is_never_answered_as_success(make_broker, make_proxy,
                                                                      postgres):
    proxy, broker = make_gated(make_broker, make_proxy, postgres)
    direct(broker, "a", 0)
    thread, replies = stop_answers(proxy, postgres, broker, [item("a", 1)])
    thread.join(90)
    assert replies[0].status == 503
    assert replies[0].json()["code"] == "outcome_unknown"
    proxy.forward()
    broker.wait_for("/readyz", 200)
    direct(broker, "a", 2)
    assert numbers(take_all(broker, 3)) == {"a": [0, 1, 2]}


def test_a_black_hole(make_broker, make_proxy, postgres):
    """Connections that stay and say nothing: given up, and then it is as if PostgreSQL was away."""
    proxy, broker = make_gated(make_broker, make_proxy, postgres, "--db-statement-timeout", "1000",
                               "--db-in-flight-deadline-ms", "2000")
    direct(broker, "a", 0)
    proxy.freeze()
    buffered(broker, [item("a", 1, "one")])  # after the connection it went to was given up
    buffered(broker, [item("a", 2), item("b", 0)])
    proxy.forward()
    wait_drained(broker)
    direct(broker, "a", 3)
    assert numbers(take_all(broker, 5)) == {"a": [0, 1, 2, 3], "b": [0]}
