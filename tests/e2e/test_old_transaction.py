"""A transaction that stays open keeps every version that was removed since: nothing may walk through those.
Counted in index entries; the counts are exact once the broker's connections have ended."""

import pytest

from support.acks import ack_of
from support.process import wait_until
from support.psql_session import PsqlSession

ROUNDS = 400
PARTITIONS = 4


@pytest.fixture
def postgres(make_postgres):
    # The planner learns of the table only when the test says so.
    return make_postgres({"autovacuum": "off"})


def cycle(broker, rounds):
    """Pushes, pops and acks one message of each partition, so many times; every one makes two epochs."""
    for _ in range(rounds):
        items = [{"queue": "old", "partition": f"p{p}", "payload": p} for p in range(PARTITIONS)]
        assert broker.post("/api/v1/push", {"items": items}).status == 201
        popped = broker.get(f"/api/v1/pop/queue/old?batch={PARTITIONS}&partitions={PARTITIONS}").json()
        acks = [ack_of(message) for message in popped["messages"]]
        assert len(acks) == PARTITIONS
        reply = broker.post("/api/v1/ack/batch", {"acknowledgments": acks})
        assert all(answer["success"] for answer in reply.json()), reply


def entries_read(postgres):
    """Of the index of queen.progress, so far."""
    wait_until(lambda: not postgres.backends("application_name LIKE 'queen%'"), what="the connections to end")
    return int(postgres.psql("SELECT idx_tup_read FROM pg_stat_user_indexes WHERE indexrelname = 'progress_pkey'"))


def wait_swept(postgres):
    wait_until(lambda: postgres.psql("SELECT count(*) FROM queen.progress") == str(PARTITIONS), 60, "the sweep")


@pytest.mark.parametrize("analyzed", [False, True], ids=["never_analyzed", "analyzed_after_the_sweep"])
def test_what_was_removed_is_not_read_again(make_broker, postgres, analyzed):
    broker = make_broker("--num-workers", "1", env=postgres.env()).start()
    cycle(broker, 1)
    holder = PsqlSession(postgres)
    try:
        holder.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM queen.progress")
        cycle(broker, ROUNDS)
        wait_swept(postgres)
        if analyzed:  # one row of each key is left: the planner expects no more
            postgres.psql("ANALYZE queen.progress")
        assert broker.stop() == 0
        before = entries_read(postgres)

        broker.start()
        cycle(broker, 20)
        wait_swept(postgres)
        assert broker.stop() == 0
        read = entries_read(postgres) - before
    finally:
        holder.close()
    # 160 changes and their removal; one walk through what was removed before would read 3,200 entries.
    assert read < 160 * 15
