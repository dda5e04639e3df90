"""kill -9 of one PostgreSQL process under load: a backend in the middle of its work, or the postmaster."""

import os
import signal

from chaos.load import under_load
from chaos.probes import Probes
from support.process import wait_until


def test_a_backend_is_killed(make_broker, postgres):
    """PostgreSQL then ends all of them, recovers and serves again by itself."""
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        for crash in range(1, 4):
            wait_until(lambda: kill_one(postgres), 60, "a backend that works")
            wait_until(lambda: postgres.log().count("all server processes terminated") == crash, 60,
                       "the crash")
            postgres.wait_ready()
            progress.wait(300)
    assert under_load([broker], during)
    probes.recovered()


def kill_one(postgres):
    pids = postgres.backends("application_name = 'queen' AND state = 'active'")
    if pids:
        os.kill(pids[0], signal.SIGKILL)
    return pids


def test_the_postmaster_is_killed(make_broker, postgres):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        for _ in range(2):
            postgres.kill_postmaster()
            broker.wait_for("/readyz", 503)
            probes.all_refused()
            postgres.start()
            broker.wait_for("/readyz", 200)
            progress.wait(300)
    assert under_load([broker], during)
    probes.recovered()
