"""SIGTERM under full load loses nothing that was answered, and two brokers are restarted in turn."""

from chaos.load import under_load
from chaos.probes import Probes


def test_sigterm_under_full_load(make_broker, postgres):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()

    def during(progress):
        for _ in range(4):
            progress.wait(1000)
            assert broker.stop() == 0
            broker.start()
    assert under_load([broker], during, rate=None)
    assert broker.log().count("second signal") == 0


def test_rolling_restart_of_two_brokers(make_broker, postgres):
    """One of them always serves: a caller of the other's is never refused."""
    brokers = [make_broker("--num-workers", "2", env=postgres.env()).start() for _ in range(2)]

    def during(progress):
        for _ in range(2):
            for broker, other in (brokers, brokers[::-1]):
                probes = Probes(other, f"chaos.rolling-{other.port}-{other.pid}")
                assert broker.stop() == 0
                for kind, (status, reply) in probes.ask_all("pop", "transaction").items():
                    assert status in (200, 204), (kind, status, reply)
                broker.start()
                probes.recovered()
                progress.wait(300)
    assert under_load(brokers, during)
