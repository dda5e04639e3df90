"""PostgreSQL is stopped under load, in each way there is, and comes back a while later."""

import pytest

from chaos.load import under_load
from chaos.probes import Probes


@pytest.mark.parametrize("mode", ["fast", "immediate", "kill -9"])
def test_postgresql_stops_and_comes_back(make_broker, postgres, mode):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        for _ in range(2):
            if mode == "kill -9":
                postgres.kill9()
            else:
                postgres.stop(mode)
            broker.wait_for("/readyz", 503)
            probes.all_refused()
            assert broker.get("/livez").status == 200
            postgres.start()
            broker.wait_for("/readyz", 200)
            progress.wait(200)
    assert under_load([broker], during)
    probes.recovered()
