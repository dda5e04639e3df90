"""A streaming standby takes over: the broker knows both hosts and goes where it can write.

The standby is synchronous, so nothing that was answered is only on the old primary.
"""

import os

from chaos.load import under_load
from chaos.probes import Probes
from support.postgres import Postgres
from support.process import run, wait_until


class Standby(Postgres):
    """Follows `primary`, on another address and the same port."""

    def __init__(self, primary):
        self.primary = primary
        super().__init__()
        self.port = primary.port
        self._made_queen = True

    @property
    def host(self):
        return "127.0.0.2"

    def _initdb(self):
        run([os.path.join(self.bin, "pg_basebackup"), "-h", self.primary.directory, "-p",
             str(self.primary.port), "-U", "postgres", "-D", self.data, "-R", "-X", "stream",
             "--checkpoint=fast"], user=self.user, env=self._environment())

    def _is_ready(self):
        """A standby says "standby" where a primary says "ready"."""
        return super()._is_ready() or "accept read-only connections" in self.log()

    def promote(self):
        """Returns when it takes writes."""
        self.psql("SELECT pg_promote()", role="postgres")
        wait_until(lambda: self.psql("SELECT pg_is_in_recovery()", role="postgres") == "f", 60,
                   "the promotion")


def make_pair(make_broker, postgres, closing):
    standby = closing(Standby(postgres))
    standby.start()
    postgres.psql("ALTER SYSTEM SET synchronous_standby_names = '*'", role="postgres")
    postgres.psql("SELECT pg_reload_conf()", role="postgres")
    wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = "
                                     "'sync'", role="postgres") == "1", 60, "the standby")
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
