"""Pushes buffered for one database are not replayed into another one."""

import os

from chaos.test_file_buffer import (QUEUE, buffered, buffer_files, direct, item, numbers, take_all,
                                    wait_drained)
from support.process import wait_until


def lead_to(proxy, postgres):
    """From the next connection on."""
    proxy.target = (postgres.host, postgres.port)
    proxy.forward()


def owner_of_buffer(broker):
    """The id of the database that it is for, None while that is written."""
    try:
        with open(os.path.join(broker.data_dir, "buffer", "database"), encoding="ascii") as file:
            return file.read()
    except FileNotFoundError:
        return None


def cut_off(proxy, broker):
    proxy.refuse()
    proxy.cut()
    broker.wait_for("/readyz", 503)


def test_another_database_gets_nothing_and_nothing_is_lost(make_broker, make_postgres, make_proxy):
    mine, other = make_postgres(), make_postgres()
    broker = make_broker(env=mine.env()).start()
    make_broker(env=other.env()).start()  # so that the other one has a schema
    mine.stop()
    broker.wait_for("/readyz", 503)
    buffered(broker, [item("a", 1), item("a", 2), item("b", 1)])
    broker.kill9()

    broker.env.update(other.env())
    files = buffer_files(broker)
    code, output = broker.run_to_end()
    assert code == 1
    assert "the file buffer belongs to another database" in output
    assert os.path.join(broker.data_dir, "buffer") in output and "FILE_BUFFER_DIR" in output
    assert other.psql("SELECT count(*) FROM queen.messages") == "0"
    assert buffer_files(broker)[:len(files)] == files

    # The same database at another address, as after a failover.
    mine.start()
    proxy = make_proxy(mine.host, mine.port)
    broker.env.update(mine.env(proxy.host, proxy.port))
    broker.start()
    assert numbers(take_all(broker, 3)) == {"a": [1, 2], "b": [1]}
    wait_drained(broker)
    assert broker.stop() == 0

    # A buffer that is drained is nobody's.
    broker.env.update(other.env())
    assert broker.start().stop() == 0


def test_what_came_before_the_first_contact_is_for_that_database(make_broker, make_postgres):
    postgres = make_postgres()
    postgres.stop()
    broker = make_broker(env=postgres.env()).start(until="live")
    buffered(broker, [item("a", 1)])
    broker.kill9()
    broker.start(until="live")
    buffered(broker, [item("a", 2)])
    postgres.start()
    assert numbers(take_all(broker, 2)) == {"a": [1, 2]}


def test_a_running_broker_replays_nothing_into_another_database(make_broker, make_postgres,
                                                                make_proxy):
    """The address leads to another database, as after a move of a name or a blank restore."""
    mine, other = make_postgres(), make_postgres()
    neighbour = make_broker(env=other.env()).start()
    direct(neighbour, "a", 0)
    assert neighbour.stop() == 0
    proxy = make_proxy(mine.host, mine.port)
    broker = make_broker(env=mine.env(proxy.host, proxy.port)).start()
    cut_off(proxy, broker)
    buffered(broker, [item("a", 1), item("b", 1)])

    # No heartbeat commits, so that nothing but the replay itself finds out whose database it is.
    other.psql("CREATE FUNCTION queen.not_yet() RETURNS trigger LANGUAGE plpgsql AS "
               "$$ BEGIN RAISE 'not yet'; END $$")
    other.psql("CREATE TRIGGER not_yet BEFORE INSERT ON queen.batches FOR EACH ROW "
               "WHEN (NEW.n < 0) EXECUTE FUNCTION queen.not_yet()")
    lead_to(proxy, other)
    wait_until(lambda: other.log().count("this is not the database") > 2, 60,
               "the replay to be tried")
    other.psql("DROP TRIGGER not_yet ON queen.batches")

    assert broker.wait_exit() == 1
    assert "the file buffer belongs to another database" in broker.log()
    assert "FILE_BUFFER_DIR" in broker.log()
    assert other.psql("SELECT count(*) FROM queen.messages") == "1", "only what was its own"
    assert other.psql("SELECT name FROM queen.partitions WHERE name <> 'Default'") == "a"

    lead_to(proxy, mine)
    broker.start()
    assert numbers(take_all(broker, 2)) == {"a": [1], "b": [1]}
    wait_drained(broker)


def test_an_empty_buffer_is_for_the_database_that_is_met(make_broker, make_postgres, make_proxy):
    mine, other = make_postgres(), make_postgres()
    make_broker(env=other.env()).start()  # so that the other one has a schema
    proxy = make_proxy(mine.host, mine.port)
    broker = make_broker(env=mine.env(proxy.host, proxy.port)).start()
    cut_off(proxy, broker)
    buffered(broker, [item("a", 0)])
    lead_to(proxy, mine)
    wait_drained(broker)
    cut_off(proxy, broker)
    lead_to(proxy, other)
    broker.wait_for("/readyz", 200)
    direct(broker, "a", 1)

    # From here on what is buffered is for that one.
    owner = other.psql("SELECT id FROM queen.database_identity")
    wait_until(lambda: owner_of_buffer(broker) == owner, 60, "the buffer to be claimed")
    cut_off(proxy, broker)
    buffered(broker, [item("a", 2)])
    lead_to(proxy, other)
    assert numbers(take_all(broker, 2)) == {"a": [1, 2]}
    wait_drained(broker)
    assert mine.psql(f"SELECT count(*) FROM queen.messages WHERE queue = '{QUEUE}'") == "1"
    assert broker.stop() == 0
