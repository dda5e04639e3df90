"""Pushes buffered for one database are not replayed into another one."""

import os

from chaos.test_file_buffer import buffered, buffer_files, item, numbers, take_all, wait_drained


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
