"""Two versions of the broker on one schema, under load.

The other version is a copy of the binary in which the SQL files it carries are changed in place: a higher
release, a comment, a parameter's name (which cannot be replaced in place, so everything is dropped and
created anew).
"""

import os
import shutil

from chaos.load import under_load
from chaos.probes import Probes
from support.broker import REPOSITORY, binary

PROCEDURES = os.path.join(REPOSITORY, "sql", "procedures")


def release():
    """The procedures' release of the binary under test."""
    with open(os.path.join(PROCEDURES, "RELEASE"), encoding="utf-8") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("release "))


class Program:
    """A copy of the binary whose embedded files can be exchanged for others of the same length."""

    def __init__(self, directory, name):
        self.path = os.path.join(directory, name)
        shutil.copy(binary(), self.path)
        with open(self.path, "rb") as file:
            self._bytes = file.read()

    def replace(self, name, old, new):
        """In the file `name` of sql/procedures."""
        with open(os.path.join(PROCEDURES, name), "rb") as file:
            text = file.read()
        changed = text.replace(old.encode(), new.encode())
        assert changed != text and len(changed) == len(text), (name, old, new)
        assert self._bytes.count(text) == 1, f"{name} is not in the binary as it is in sql/"
        self._bytes = self._bytes.replace(text, changed)
        return self

    def save(self):
        """Returns the path."""
        with open(self.path, "wb") as file:
            file.write(self._bytes)
        return self.path


def newer_program(directory, *changes):
    program = Program(directory, "queen-newer")
    program.replace("RELEASE", f"release {release()}\n", f"release {release() + 1}\n")
    for change in changes:
        program.replace(*change)
    return program.save()


def installed(postgres):
    return int(postgres.psql("SELECT max(release) FROM queen.schema_procedures"))


def roll(make_broker, postgres, newer):
    """Old and new side by side, then only new, then the old one again on the newer schema."""
    brokers = [make_broker("--num-workers", "2", env=postgres.env()).start() for _ in range(2)]
    old, rolled = brokers
    now = release()
    assert installed(postgres) == now

    def during(progress):
        assert rolled.stop() == 0
        rolled.program = newer
        rolled.start()
        assert installed(postgres) == now + 1
        progress.wait(500)  # the old one serves on procedures it does not know
        assert old.stop() == 0
        old.start()
        assert "brought up to date by a newer broker" in old.log()
        assert installed(postgres) == now + 1, "older procedures were written over newer ones"
        progress.wait(500)
        for broker in brokers:
            Probes(broker, f"chaos.versions-{broker.port}").recovered()
    assert under_load(brokers, during)
    return old


def test_a_newer_version_rolls_in(make_broker, postgres, directory):
    roll(make_broker, postgres, newer_program(directory, ("push_messages.sql", "-- Appends", "-- APPENDS")))


def test_a_newer_version_replaces_every_procedure(make_broker, postgres, directory):
    """PostgreSQL cannot rename a parameter in place."""
    roll(make_broker, postgres, newer_program(directory, ("push_messages.sql", "p_broker", "q_broker")))


def test_an_older_version_refuses_a_breaking_schema(make_broker, postgres):
    """It says so and leaves; the one that serves already goes on."""
    serving = make_broker("--num-workers", "2", env=postgres.env()).start()
    Probes(serving).recovered()
    version = int(postgres.psql("SELECT max(version) FROM queen.schema_migrations"))
    postgres.psql("INSERT INTO queen.schema_migrations (version, name, checksum, breaking, applied_by) "
                  f"VALUES ({version + 1}, '{version + 1:04}_other_world.sql', 'x', true, 'queen 9')")
    code, output = make_broker(env=postgres.env()).run_to_end()
    assert code == 1
    assert "start a newer version of the broker" in output and "other_world" in output
    Probes(serving, "chaos.still").recovered()


def test_an_older_version_lives_with_a_newer_schema_that_breaks_nothing(make_broker, postgres):
    make_broker(env=postgres.env()).start().stop()
    version = int(postgres.psql("SELECT max(version) FROM queen.schema_migrations"))
    postgres.psql("INSERT INTO queen.schema_migrations (version, name, checksum, breaking, applied_by) "
                  f"VALUES ({version + 1}, '{version + 1:04}_more.sql', 'x', false, 'queen 9'); "
                  "ALTER TABLE queen.queues ADD COLUMN of_a_newer_version int")
    broker = make_broker("--num-workers", "2", env=postgres.env()).start()
    assert under_load([broker], lambda progress: progress.wait(300))
