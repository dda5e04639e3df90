"""No space is left for PostgreSQL's tables, or for its log, and then there is again."""

import os

import pytest

from chaos.load import under_load
from chaos.probes import Probes
from support.process import give_to, run, wait_until

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a small file system needs root")


class SmallDisk:
    """A file system of `megabytes` at `path`."""

    def __init__(self, path, megabytes, owner):
        self.path = path
        os.makedirs(path, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "queen-test", path])
        give_to(path, owner)
        os.chmod(path, 0o700)
        self._ballast = os.path.join(path, "ballast")

    def fill(self):
        """Until not a byte is left."""
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    pass

    def empty(self):
        """The ballast goes."""
        os.unlink(self._ballast)

    def close(self):
        """Unmounts, also while it is in use."""
        run(["umount", "-l", self.path])


@needs_root
def test_no_space_for_tables(make_broker, postgres, closing, directory):
    disk = SmallDisk(os.path.join(directory, "tables"), 32, postgres.user)
    closing(disk)
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    postgres.psql(f"CREATE TABLESPACE small OWNER queen LOCATION '{disk.path}'", role="postgres")
    for table in ("segments", "progress", "batches"):
        postgres.psql(f"ALTER TABLE queen.{table} SET TABLESPACE small")
    probes = Probes(broker)

    def during(progress):
        disk.fill()
        wait_until(lambda: "No space left on device" in postgres.log(), 60, "the disk to be full")
        # Whether a row still fits somewhere is PostgreSQL's to say; an answer is owed in any case.
        for kind, (status, reply) in probes.ask_all("pop", "transaction").items():
            assert status in (200, 204, 503), (kind, status, reply)
        disk.empty()
        progress.wait(500)
    assert under_load([broker], during)
    assert broker.get("/readyz").status == 200
    probes.recovered()


REFUSE = """
CREATE SEQUENCE queen.attempts;
CREATE FUNCTION queen.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  PERFORM nextval('queen.attempts');
  RAISE 'no space' USING ERRCODE = 'disk_full';
END $$;
CREATE TRIGGER refuse BEFORE INSERT ON queen.progress FOR EACH ROW EXECUTE FUNCTION queen.refuse();
CREATE TRIGGER refuse BEFORE INSERT ON queen.segments FOR EACH ROW EXECUTE FUNCTION queen.refuse()"""


def test_a_full_disk_is_not_filled_with_complaints(make_broker, postgres):
    """Each attempt is a line in PostgreSQL's log; a caller's deadline is time for many thousands."""
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)
    item = {"queue": probes.queue, "partition": "more", "payload": 1}
    assert broker.post("/api/v1/push", {"items": [item]}).status == 201
    postgres.psql(REFUSE)
    probes.all_refused("pop more", "ack", "transaction", "extend")
    attempts = int(postgres.psql("SELECT last_value FROM queen.attempts"))
    print(f"attempts: {attempts}")
    assert attempts < 3_000
    for table in ("progress", "segments"):
        postgres.psql(f"DROP TRIGGER refuse ON queen.{table}")
    probes.recovered()


@needs_root
def test_no_space_for_the_log(make_broker, make_postgres, closing, directory):
    """PostgreSQL stops with a PANIC; it is started again when there is space."""
    postgres = make_postgres({"min_wal_size": "32MB", "max_wal_size": "32MB"}, start=False)
    disk = SmallDisk(os.path.join(directory, "wal"), 100, postgres.user)
    closing(disk)
    place = os.path.join(disk.path, "pg_wal")
    log = os.path.join(postgres.data, "pg_wal")
    run(["cp", "-a", log, place], user=postgres.user)
    run(["rm", "-r", log])
    os.symlink(place, log)
    postgres.start()
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    probes = Probes(broker)

    def during(progress):
        disk.fill()

        def stopped():
            postgres.psql("SELECT pg_switch_wal()", "postgres", "postgres", check=False)
            return "PANIC" in postgres.log()
        wait_until(stopped, 60, "PostgreSQL to run out of space")
        broker.wait_for("/readyz", 503)
        probes.all_refused()
        disk.empty()
        postgres.stop("immediate")
        postgres.start()
        broker.wait_for("/readyz", 200)
        progress.wait(500)
    assert under_load([broker], during)
    probes.recovered()
