"""A stranger holds a lock that every statement of the broker needs, for longer than the broker waits."""

import pytest

from chaos.load import under_load
from chaos.probes import Probes
from chaos.stranger import Stranger
from support.process import wait_until


@pytest.mark.parametrize("settings, message", [
    (("--db-statement-timeout", "500", "--db-lock-timeout", "20000"),
     "canceling statement due to statement timeout"),
    (("--db-statement-timeout", "20000", "--db-lock-timeout", "300"),
     "canceling statement due to lock timeout")], ids=["statement timeout", "lock timeout"])
def test_statements_time_out(make_broker, postgres, settings, message):
    broker = make_broker("--num-workers", "2", *settings, env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        stranger = Stranger(postgres)
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE queen.segments, queen.progress IN ACCESS EXCLUSIVE MODE")
        before = postgres.log().count(message)
        wait_until(lambda: postgres.log().count(message) >= before + 10, 60, "timeouts")
        stranger.close()
        progress.wait(500)
    assert under_load([broker], during)
    probes.recovered()
