"""The background sweeps: what is past its time, passed by all, deleted or superseded leaves the tables."""

import pytest

from support.acks import ack_of
from support.process import wait_until

SWEEPS = {"RETENTION_INTERVAL": "100", "EVICTION_INTERVAL": "100"}


@pytest.fixture
def broker(make_broker, postgres):
    """Sweeps all the time, on a server that the test can look into."""
    return make_broker(env={"DATABASE_URL": postgres.url, **SWEEPS}).start()


def configure(broker, queue, **options):
    reply = broker.post("/api/v1/configure", {"queue": queue, "options": options})
    assert reply.status == 200, reply


def push(broker, queue, *payloads):
    reply = broker.post("/api/v1/push", {"items": [
        {"queue": queue, "payload": payload, "transactionId": f"{queue}-{payload}"} for payload in payloads]})
    assert reply.status == 201, reply
    return [item["status"] for item in reply.json()]


def pop(broker, queue, query=""):
    reply = broker.get(f"/api/v1/pop/queue/{queue}?batch=100{query}")
    return [message["data"] for message in reply.json()["messages"]] if reply.status == 200 else []


def stored(postgres, queue):
    """How many messages of the queue the log still holds."""
    return int(postgres.psql(f"""
        SELECT coalesce(sum(s.count), 0) FROM queen.segments s
        JOIN queen.partitions p ON p.id = s.partition_id JOIN queen.queues q ON q.id = p.queue_id
        WHERE q.name = '{queue}' AND s.payloads IS NOT NULL"""))


@pytest.mark.parametrize("options", [{"retentionSeconds": 1}, {"maxWaitTimeSeconds": 1},
                                     {"retentionEnabled": True, "retentionSeconds": 1}])
def test_messages_past_their_time_leave_the_table(broker, postgres, options):
    configure(broker, "old", **options)
    push(broker, "old", 1)
    push(broker, "old", 2, 3)
    wait_until(lambda: stored(postgres, "old") == 0, what="the sweep")
    assert pop(broker, "old") == []
    # Offsets and deduplication go on from a swept partition.
    assert push(broker, "old", 1) == ["queued"], "the id of a message that is gone is free again"
    configure(broker, "old", retentionSeconds=0, maxWaitTimeSeconds=0)
    push(broker, "old", 4)
    reply = broker.get("/api/v1/pop/queue/old?batch=100&autoAck=true").json()
    assert reply["messages"][-1]["data"] == 4
    assert reply["messages"][-1]["offset"] == 4


def test_retention_switched_off_keeps_everything(broker, postgres):
    configure(broker, "kept", retentionEnabled=False, retentionSeconds=1)
    configure(broker, "swept", retentionSeconds=1)
    push(broker, "kept", 1)
    push(broker, "swept", 1)
    wait_until(lambda: stored(postgres, "swept") == 0, what="the sweep of the other queue")
    assert stored(postgres, "kept") == 1
    assert pop(broker, "kept") == [1]


def test_completed_messages_wait_for_every_group(broker, postgres):
    configure(broker, "done", retentionEnabled=True, completedRetentionSeconds=1)
    configure(broker, "clock", retentionSeconds=1)
    push(broker, "done", 1, 2)
    assert pop(broker, "done", "&consumerGroup=a&autoAck=true") == [1, 2]
    lease = broker.get("/api/v1/pop/queue/done?batch=1&consumerGroup=b").json()
    push(broker, "clock", 1)
    wait_until(lambda: stored(postgres, "clock") == 0, what="a sweep after that second")
    assert stored(postgres, "done") == 2, "group b has not passed them"
    message = lease["messages"][0]
    broker.post("/api/v1/ack", {"transactionId": message["transactionId"], "partitionId": message["partitionId"],
                                "leaseId": lease["leaseId"], "consumerGroup": "b"})
    assert pop(broker, "done", "&consumerGroup=b&autoAck=true") == [2]
    wait_until(lambda: stored(postgres, "done") == 0, what="the sweep")


def test_old_states_and_deleted_queues_leave_no_rows(broker, postgres):
    push(broker, "gone", *range(10))
    for _ in range(10):
        assert broker.get("/api/v1/pop/queue/gone?autoAck=true").status == 200
    wait_until(lambda: postgres.psql("SELECT max(n) FROM (SELECT count(*) AS n FROM queen.progress"
                                     " GROUP BY partition_id, group_id) x") == "1", what="one state a group")
    assert broker.request("DELETE", "/api/v1/resources/queues/gone").json()["existed"]
    for table in ("segments", "progress", "dedup"):
        wait_until(lambda t=table: postgres.psql(f"SELECT count(*) FROM queen.{t}") == "0", what=f"empty {table}")
    assert push(broker, "gone", 1) == ["queued"]
    assert pop(broker, "gone") == [1]


def test_several_brokers_sweep_the_same_tables(make_broker, postgres):
    brokers = [make_broker(env={"DATABASE_URL": postgres.url, **SWEEPS}).start() for _ in range(3)]
    configure(brokers[0], "many", retentionSeconds=1)
    for number in range(30):
        push(brokers[number % 3], "many", number)
    wait_until(lambda: stored(postgres, "many") == 0, what="the sweep")
    for broker in brokers:
        assert pop(broker, "many") == []
        assert broker.stop() == 0


@pytest.mark.parametrize("query", ["&autoAck=true", ""])
def test_what_is_gone_when_it_is_to_be_read_is_passed_over(make_broker, postgres, query):
    """The broker believes that it is there: it has read of it, but not the messages themselves."""
    pushing, broker = (make_broker("--num-workers", "1", env=postgres.env()).start() for _ in range(2))
    for number in range(7):
        push(pushing, "taken", number)
    path = f"/api/v1/pop/queue/taken?{query}&batch="
    first = broker.get(path + "1").json()
    assert [message["data"] for message in first["messages"]] == [0]
    if not query:
        assert broker.post("/api/v1/ack", ack_of(first["messages"][0])).json()[0]["success"]
    postgres.psql("DELETE FROM queen.segments WHERE base_seq IN (1, 2)")
    second = broker.get(path + "2")  # of which nothing is left
    assert [message["data"] for message in second.json()["messages"]] == [3, 4]
    if query:
        return
    for message in second.json()["messages"]:
        assert broker.post("/api/v1/ack", ack_of(message)).json()[0]["success"]
    postgres.psql("DELETE FROM queen.segments WHERE base_seq = 5")
    third = broker.get(path + "2").json()  # of which something is left: the lease ends with its ack
    assert [message["data"] for message in third["messages"]] == [6]
    assert broker.post("/api/v1/ack", ack_of(third["messages"][0])).json()[0]["leaseReleased"]
