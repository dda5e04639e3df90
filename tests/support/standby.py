"""Standby: a streaming standby of a Postgres, on another address and the same port."""

import os

from .postgres import Postgres
from .process import run, wait_until


class Standby(Postgres):
    """Follows `primary`. Made stopped; `start` it, then `make_synchronous` if commits are to wait for it."""

    def __init__(self, primary):
        self.primary = primary
        super().__init__()
        self.port = primary.port
        self._made_queen = True

    @property
    def host(self):
        return "127.0.0.2"

    def make_synchronous(self):
        """From here on the primary answers no commit that the standby has not got."""
        self.primary.psql("ALTER SYSTEM SET synchronous_standby_names = '*'", role="postgres")
        self.primary.psql("SELECT pg_reload_conf()", role="postgres")
        wait_until(lambda: self.primary.psql(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'",
            role="postgres") == "1", 60, "the standby")

    def promote(self):
        """Returns when it takes writes."""
        self.psql("SELECT pg_promote()", role="postgres")
        wait_until(lambda: self.psql("SELECT pg_is_in_recovery()", role="postgres") == "f", 60,
                   "the promotion")

    def _initdb(self):
        run([os.path.join(self.bin, "pg_basebackup"), "-h", self.primary.directory, "-p",
             str(self.primary.port), "-U", "postgres", "-D", self.data, "-R", "-X", "stream",
             "--checkpoint=fast"], user=self.user, env=self._environment())

    def _is_ready(self):
        """A standby says "standby" where a primary says "ready"."""
        return super()._is_ready() or "accept read-only connections" in self.log()
