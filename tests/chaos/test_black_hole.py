"""Connections that stay open and say nothing: given up after their deadline, and never guessed about."""

import threading

from chaos.load import under_load
from chaos.probes import Probes
from chaos.stranger import Stranger
from support.process import wait_until

SETTINGS = ("--num-workers", "2", "--db-statement-timeout", "1000", "--db-in-flight-deadline-ms",
            "2000", "--db-connection-timeout", "1000")


def start_behind(make_broker, make_proxy, postgres):
    proxy = make_proxy(postgres.host, postgres.port)
    return proxy, make_broker(*SETTINGS, env=postgres.env(proxy.host, proxy.port)).start()


def test_under_load(make_broker, make_proxy, postgres):
    proxy, broker = start_behind(make_broker, make_proxy, postgres)
    probes = Probes(broker)

    def during(progress):
        for replies_only in (False, True):
            proxy.freeze(replies_only=replies_only)
            wait_until(lambda: "no answer within 2000 ms" in broker.log(), 60,
                       "a connection to be given up")
            broker.wait_for("/readyz", 503)
            proxy.forward()
            broker.wait_for("/readyz", 200)
            progress.wait(300)
    assert under_load([broker], during)
    probes.recovered()


def test_nobody_waits_for_ever_and_no_success_is_guessed(make_broker, make_proxy, postgres):
    """A transaction commits, its answer is swallowed, and nobody can be asked before the deadline. What
    is sent while the hole is open is answered by its deadline too."""
    proxy, broker = start_behind(make_broker, make_proxy, postgres)
    probes = Probes(broker)
    postgres.psql("CREATE FUNCTION queen.stall() RETURNS trigger LANGUAGE plpgsql AS "
                  "$$ BEGIN PERFORM pg_advisory_xact_lock(77); RETURN NEW; END $$")
    postgres.psql("CREATE TRIGGER stall BEFORE INSERT ON queen.segments FOR EACH ROW "
                  "EXECUTE FUNCTION queen.stall()")
    stranger = Stranger(postgres)
    stranger.run("SELECT pg_advisory_lock(77)")
    answers = {}
    caller = threading.Thread(target=lambda: answers.update(probes.ask_all("transaction")))
    caller.start()
    wait_until(lambda: postgres.psql("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND "
                                     "objid = 77 AND NOT granted") == "1", 60, "the transaction")
    proxy.freeze(replies_only=True)
    stranger.close()
    stored = "SELECT count(*) FROM queen.messages WHERE partition = 'sink'"
    wait_until(lambda: postgres.psql(stored) == "1", 60, "the commit")
    probes.all_refused()
    caller.join()
    status, reply = answers["transaction"]
    assert status == 503 and reply["code"] == "outcome_unknown", answers
    proxy.forward()
    probes.recovered()
    assert postgres.psql(stored) == "1"
