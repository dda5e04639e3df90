"""Deadlocks and serialization failures: the broker tries again, and no caller hears of it."""

import pytest

from chaos.load import under_load
from chaos.probes import Probes
from chaos.stranger import Stranger
from support.process import wait_until

# A sequence counts attempts: what it has given is not taken back by a rollback.
FAIL_TWO_OF_THREE = """
CREATE SEQUENCE queen.attempts;
CREATE FUNCTION queen.fail_two_of_three() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('queen.attempts') % 3 <> 0 THEN
    RAISE 'not this time' USING ERRCODE = '{sqlstate}';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER fail_two_of_three AFTER INSERT ON queen.{table}
FOR EACH STATEMENT EXECUTE FUNCTION queen.fail_two_of_three()"""


@pytest.mark.parametrize("table, sqlstate", [("segments", "40P01"), ("progress", "40001")])
def test_two_of_three_attempts_fail(make_broker, postgres, table, sqlstate):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        postgres.psql(FAIL_TWO_OF_THREE.format(table=table, sqlstate=sqlstate))
        for kind, (status, reply) in probes.ask_all("pop", "transaction").items():
            assert status in (200, 204), (kind, status, reply)
        progress.wait(1000)
        postgres.psql(f"DROP TRIGGER fail_two_of_three ON queen.{table}")
    assert under_load([broker], during)
    attempts = int(postgres.psql("SELECT last_value FROM queen.attempts"))
    print(f"attempts: {attempts}")
    assert attempts > 30
    probes.recovered()


def test_a_real_deadlock(make_broker, make_postgres):
    """A push holds `segments` and waits for `batches`, the stranger the other way round."""
    postgres = make_postgres({"deadlock_timeout": "100ms"})
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def deadlock():
        stranger = Stranger(postgres, "postgres")
        stranger.run("SET deadlock_timeout = '1h'")  # so the broker is the victim
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE queen.batches IN SHARE MODE")
        wait_until(lambda: postgres.psql(
            "SELECT count(*) FROM pg_locks w JOIN pg_locks h USING (pid) WHERE NOT w.granted AND "
            "w.relation = 'queen.batches'::regclass AND h.granted AND "
            "h.relation = 'queen.segments'::regclass") != "0", 60, "a push that waits", interval=0)
        stranger.run("LOCK TABLE queen.segments IN ACCESS EXCLUSIVE MODE")
        stranger.close()

    def during(progress):
        for _ in range(5):
            deadlock()
            progress.wait(100)
    assert under_load([broker], during)
    deadlocks = postgres.log().count("deadlock detected")
    print(f"deadlocks: {deadlocks}")
    assert deadlocks >= 1
    probes.recovered()
