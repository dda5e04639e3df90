"""A streaming standby takes over: the broker knows both hosts and goes where it can write.

The standby is synchronous, so nothing that was answered is only on the old primary.
"""

from chaos.load import under_load
from chaos.probes import Probes
from support.process import wait_until
from support.standby import Standby


def make_pair(make_broker, postgres, closing):
    standby = closing(Standby(postgres))
    standby.start()
    standby.make_synchronous()
    env = dict(postgres.env(), PG_HOST=f"{postgres.host},{standby.host}")
    broker = make_broker("--num-workers", "2", "--pg-target-session-attrs", "read-write", env=env)
    return standby, broker.start()


def test_the_primary_dies_and_the_standby_takes_over(make_broker, postgres, closing):
    standby, broker = make_pair(make_broker, postgres, closing)
    probes = Probes(broker)

    def during(progress):
        progress.wait(300)
        postgres.kill9()
        broker.wait_for("/readyz", 503)
        probes.all_refused()
        standby.promote()
        broker.wait_for("/readyz", 200)
        progress.wait(300)
    assert under_load([broker], during)
    probes.recovered()


def test_the_primary_is_made_read_only_and_the_standby_takes_over(make_broker, postgres, closing):
    standby, broker = make_pair(make_broker, postgres, closing)
    probes = Probes(broker)
    stored = "SELECT coalesce(sum(count), 0) FROM queen.segments"

    def during(progress):
        progress.wait(300)
        postgres.psql("ALTER SYSTEM SET default_transaction_read_only = on", role="postgres")
        postgres.psql("SELECT pg_reload_conf()", role="postgres")
        broker.wait_for("/readyz", 503)
        wait_until(lambda: not postgres.backends("application_name = 'queen'"), 60,
                   "the broker to have left")
        probes.all_refused()
        before = postgres.psql(stored)
        standby.promote()
        broker.wait_for("/readyz", 200)
        progress.wait(300)
        assert postgres.psql(stored) == before, "the old primary was written to"
    assert under_load([broker], during)
    probes.recovered()
