"""Strangers take every connection that PostgreSQL gives, and the broker is left without any."""

from chaos.load import under_load
from chaos.probes import Probes
from chaos.stranger import Refused, Stranger
from support.process import wait_until

TOO_MANY = "53300"
SLOTS = 30
FOR_STRANGERS = SLOTS - 3  # those are kept for superusers
OF_THE_BROKER = ("--sidecar-pool-size", "8", "--db-pool-size", "4")


def all_connected(postgres):
    """A connection on its way would keep its slot while the broker stands still, seen by nobody."""
    return postgres.psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'queen'", "postgres", "postgres") == "12"


def take_all_slots(postgres, broker, strangers):
    """While the broker stands still: its connections end, and strangers have them before it can come back."""
    def all_taken():
        try:
            while len(strangers) < FOR_STRANGERS:
                strangers.append(Stranger(postgres))
        except Refused as refused:  # the one who ended them is still on its way out
            assert refused.sqlstate == TOO_MANY, refused
            return False
        return True

    broker.pause()
    try:
        postgres.psql("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'queen'",
                      "postgres", "postgres")
        wait_until(all_taken, 60, "the strangers to have all connections")
    finally:
        broker.resume()


def test_all_connections_are_taken_by_others(make_broker, make_postgres):
    postgres = make_postgres({"max_connections": str(SLOTS)})
    broker = make_broker("--num-workers", "2", *OF_THE_BROKER, env=postgres.env()).start()
    wait_until(lambda: all_connected(postgres), 60, "the broker to have all its connections")
    probes = Probes(broker)

    def during(progress):
        strangers = []
        take_all_slots(postgres, broker, strangers)
        broker.wait_for("/readyz", 503)
        probes.all_refused()
        wait_until(lambda: TOO_MANY in broker.log(), 60, "the reason in the log")
        for stranger in strangers:
            stranger.close()
        broker.wait_for("/readyz", 200)
        progress.wait(300)
    assert under_load([broker], during)
    probes.recovered()


def test_some_connections_are_enough(make_broker, make_postgres):
    """What is left for the broker serves, the rest come when there is room."""
    postgres = make_postgres({"max_connections": "12"})
    strangers = [Stranger(postgres) for _ in range(4)]
    broker = make_broker("--num-workers", "2", "--sidecar-pool-size", "8", env=postgres.env())
    broker.start(until="live")

    def during(progress):
        progress.wait(500)
        for stranger in strangers:
            stranger.close()
        progress.wait(500)
    assert under_load([broker], during)
