"""What is kept for a limited time is swept by the broker: traces, dead letters, starts of groups whose queue never
came, the state of streaming queries that were reset. What is younger stays."""

from support.acks import ack_of
from support.process import wait_until

AGED = {"traces": "created_at", "dead_letters": "failed_at", "early_groups": "created_at"}


def leave_one_of_each(broker, number):
    """A trace, a dead letter and the start of a group without a queue."""
    assert broker.post("/api/v1/push", {"items": [{"queue": "aged", "partition": f"p{number}", "payload": number}]}).status == 201
    message = broker.get(f"/api/v1/pop/queue/aged/partition/p{number}?consumerGroup=g&subscriptionMode=all").json()["messages"][0]
    trace = {name: message[name] for name in ("transactionId", "partitionId")} | {"data": {"text": "x"}, "traceNames": ["name"]}
    assert broker.post("/api/v1/traces", trace).status == 201
    assert broker.post("/api/v1/ack", ack_of(message, "dlq", consumerGroup="g")).json()[0]["success"]
    assert broker.get(f"/api/v1/pop/queue/never/partition/p?consumerGroup=g{number}").status == 204


def reset_query(broker):
    """A query with state, which is reset."""
    for config_hash in ("one", "two"):
        reply = broker.post("/streams/v1/queries", {"name": "q", "source_queue": "aged", "config_hash": config_hash, "reset": True})
        assert reply.status == 200, reply
        if config_hash == "one":
            query = reply.json()["query_id"]
    return query


def test_what_is_too_old_goes(postgres, make_broker):
    broker = make_broker("--num-workers", "1", "--retention-interval", "100", "--trace-retention-days", "1",
                         "--dlq-retention-days", "1", "--early-group-retention-days", "1", env=postgres.env()).start()
    query = reset_query(broker)
    for number in range(2):
        leave_one_of_each(broker, number)
    for table, column in AGED.items():
        assert postgres.psql(f"SELECT count(*) FROM queen.{table}") == "2", table
    postgres.psql(f"INSERT INTO queen.stream_state (query_id, partition_id, key, value) VALUES ('{query}', 1, 'k', '1')")
    for table, column in AGED.items():
        postgres.psql(f"UPDATE queen.{table} SET {column} = {column} - interval '2 days' "
                      f"WHERE {column} = (SELECT min({column}) FROM queen.{table})")
    for table in AGED:
        wait_until(lambda table=table: postgres.psql(f"SELECT count(*) FROM queen.{table}") == "1", 60, f"the old row of {table} to go")
    wait_until(lambda: postgres.psql("SELECT count(*) FROM queen.stream_state") == "0", 60, "the state of the old query to go")
    assert postgres.psql("SELECT count(*) FROM queen.trace_names") == "1"
    assert postgres.psql("SELECT group_name FROM queen.early_groups") == "g1"
