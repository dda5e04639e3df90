"""The model notices when something is wrong: each test breaks the procedures in one way."""

import pytest

from history.client import Client
from model.driver import Driver
from model.state import Violation


def rewritten(procedure, old, new):
    """The procedure with one text in the place of another."""
    return f"""DO $do$
        DECLARE v_text text := pg_get_functiondef('queen.{procedure}'::regproc);
        BEGIN
            ASSERT position($t${old}$t$ IN v_text) > 0, 'it reads otherwise';
            EXECUTE replace(v_text, $t${old}$t$, $t${new}$t$);
        END $do$"""


def changed(body):
    """Every state of a group on a partition, NEW, is changed before it is stored."""
    return f"""
        CREATE FUNCTION queen.planted() RETURNS trigger LANGUAGE plpgsql AS $do$ BEGIN {body} RETURN NEW; END $do$;
        CREATE TRIGGER planted BEFORE INSERT ON queen.progress FOR EACH ROW EXECUTE FUNCTION queen.planted()"""


# The fault, and what the violation then says.
PLANTED = {
    "a skipped message": (  # now and then, when a lease ends
        changed("""
            IF NEW.lease_id IS NULL AND NEW.cursor % 5 = 3 THEN
                NEW.cursor := NEW.cursor + 1;
                NEW.settled := queen.bits_from(NEW.settled, 1);
            END IF;"""),
        "must give|not empty|settled already|not under a lease"),
    "a double lease": (
        # A lease is stored behind another one that was decided from the same row.
        rewritten("append_lanes", "p_prev_epochs[u.i] + 1, p_stamps[u.i],", """
            p_prev_epochs[u.i] + 1 + (SELECT count(*) FROM queen.progress x
                WHERE x.partition_id = u.partition_id AND x.group_id = u.group_id AND x.epoch = p_prev_epochs[u.i] + 1
                  AND x.lease_id IS NOT NULL AND p_lease_ids[u.i] IS NOT NULL AND x.cursor = p_cursors[u.i]
                  AND x.lease_id <> p_lease_ids[u.i]  -- not an ack under it
                  AND NOT EXISTS (SELECT FROM queen.progress y
                      WHERE y.partition_id = u.partition_id AND y.group_id = u.group_id
                        AND y.epoch = p_prev_epochs[u.i] AND y.lease_id = p_lease_ids[u.i])),
            p_stamps[u.i],"""),
        "is held by"),
    "a lost nack": (
        changed("""
            NEW.settled := queen.bits_or(NEW.settled, queen.bits_of(
                ARRAY(SELECT seq - NEW.cursor FROM unnest(NEW.attempt_seqs) AS seq)));"""),
        "must give|not empty|settled already|not under a lease"),
    "a duplicate accepted": (
        rewritten("push_messages", "i.time_min - v_window <= n.created_at", "i.time_min - v_window > n.created_at"),
        "is stored at"),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(postgres, make_broker, fault):
    # Two, because what one remembers by itself may hide the fault.
    brokers = [make_broker("--num-workers", "1", env=postgres.env()).start() for _ in range(2)]
    plant, words = PLANTED[fault]
    postgres.psql(plant)
    with pytest.raises(Violation, match=words):
        Driver([(broker.host, broker.port) for broker in brokers], 7).run(60)


class Forger(Client):
    """A client that is told that acks under leases long lost are accepted."""

    def request(self, method, path, body=None, timeout=40):
        """As Client.request."""
        status, reply = super().request(method, path, body, timeout)
        for outcome in reply if "/ack" in path else ():
            if outcome["error"] == "Invalid or expired lease":
                outcome.update(success=True, error=None)
        return status, reply


def test_a_stale_ack_accepted_is_found(postgres, make_broker):
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    with pytest.raises(Violation, match="not under a lease"):
        Driver([], 7, client=Forger((broker.host, broker.port))).run(60)
