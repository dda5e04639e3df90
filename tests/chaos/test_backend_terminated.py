"""Backends are terminated in the middle of a batch, again and again, under load."""

from chaos.load import under_load
from chaos.probes import Probes
from support.process import wait_until

# Ends sessions of the broker in the middle of a statement, one at a time, until there were 40.
TERMINATE = """
DO $$
DECLARE ended int := 0; victim int;
BEGIN
  WHILE ended < 40 LOOP
    PERFORM pg_stat_clear_snapshot();
    SELECT pid INTO victim FROM pg_stat_activity
    WHERE application_name = 'queen' AND state = 'active' ORDER BY random() LIMIT 1;
    IF victim IS NULL THEN
      PERFORM pg_sleep(0.001);
    ELSE
      PERFORM pg_terminate_backend(victim, 1000);
      ended := ended + 1;
      PERFORM pg_sleep(0.02);
    END IF;
  END LOOP;
END $$"""


def test_backends_are_terminated_mid_batch(make_broker, postgres):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        for _ in range(3):
            postgres.psql(TERMINATE, "postgres", "postgres")
            # Some connections are always up or coming: whoever asks is served, or refused in time.
            for kind, (status, reply) in probes.ask_all("pop", "transaction").items():
                assert status in (200, 204, 503), (kind, status, reply)
            progress.wait(200)
    assert under_load([broker], during)
    terminated = postgres.log().count("terminating connection due to administrator command")
    print(f"terminated: {terminated}")
    assert terminated >= 120
    wait_until(lambda: broker.get("/readyz").status == 200, 60, "ready")
    probes.recovered()
