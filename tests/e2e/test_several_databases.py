"""What docs/scaling.md builds on: a database may give out ids of a range of its own, and a push may be prepared."""

from support.acks import ack_of

LANE_BITS = 26
FIRST_ID = (3 << LANE_BITS) + 1  # of the database number 3, when the upper 5 of 31 bits say which one


def test_ids_of_a_range_of_their_own_and_a_prepared_push(make_postgres, make_broker):
    postgres = make_postgres({"max_prepared_transactions": "2"})
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    for table in ("queues", "partitions", "groups"):
        postgres.psql(f"ALTER TABLE queen.{table} ALTER COLUMN id SET MAXVALUE {(4 << LANE_BITS) - 1} RESTART {FIRST_ID}")
    pushed = broker.post("/api/v1/push", {"items": [{"queue": "far", "payload": 1}]}).json()[0]
    assert pushed["status"] == "queued"
    assert pushed["partition_id"].endswith(f"{FIRST_ID:012x}")
    for group in (None, "g"):
        query = f"?consumerGroup={group}" if group else ""
        message = broker.get(f"/api/v1/pop/queue/far{query}").json()["messages"][0]
        assert message["id"] == pushed["message_id"]
        more = {"consumerGroup": group} if group else {}
        assert broker.post("/api/v1/ack", ack_of(message, **more)).json()[0]["success"]

    nothing = ", ".join(["'{NULL}'"] * 7)
    postgres.psql(f"BEGIN; SELECT queen.push_messages(7, 1, true, ARRAY[{FIRST_ID}], ARRAY[1], ARRAY['2'], {nothing}, "
                  "'{0}', '{0}'); PREPARE TRANSACTION 'seven'")
    locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = %d AND granted" % FIRST_ID
    assert postgres.psql(locks) == "1", "the prepared push does not hold the lane's lock"
    assert broker.get("/api/v1/pop/queue/far").status == 204
    postgres.psql("COMMIT PREPARED 'seven'")
    popped = broker.get("/api/v1/pop/queue/far?wait=true&timeout=30000")
    assert [message["data"] for message in popped.json()["messages"]] == [2]
