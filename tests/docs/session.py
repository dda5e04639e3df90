"""Session: a reader who follows one page, with one shell and one psql that stay from its first block to its last."""

import os
import select
import shutil
import subprocess
import tempfile
from types import SimpleNamespace

from support.broker import base_environment, binary
from support.psql_session import PsqlSession

SECONDS_MAX = 240  # of one block; installing a client from its registry is the longest
# A reply above 399 is an error here, and no progress is shown.
CURLRC = "silent\nshow-error\nfail-with-body\n"


class Failed(Exception):
    """A block that did not do what its page says."""


class Session:
    """Closed at the end of the page. `broker` runs a cluster of its own."""

    def __init__(self, broker):
        self._broker = broker
        self.directory = tempfile.mkdtemp(prefix="queen-test-docs.", dir="/tmp")
        os.mkdir(os.path.join(self.directory, "bin"))
        os.symlink(binary(), os.path.join(self.directory, "bin", "queen"))
        with open(os.path.join(self.directory, ".curlrc"), "w", encoding="ascii") as file:
            file.write(CURLRC)
        run = os.path.join(broker.data_dir, "run")
        self._postgres = SimpleNamespace(bin=os.path.dirname(shutil.which("psql")), directory=run, port=5432)
        environment = base_environment() | {
            "PATH": f"{self.directory}/bin:{os.environ['PATH']}", "HOME": self.directory, "CURL_HOME": self.directory,
            "QUEEN_URL": broker.url, "PGHOST": run, "PGPORT": "5432", "PGUSER": "queen", "PGDATABASE": "queen",
            "PSQLRC": "/dev/null", "PAGER": "cat", "DATABASE_URL": f"postgresql:///queen?host={run}&user=queen"}
        self._shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.DEVNULL, cwd=self.directory, env=environment,
                                       start_new_session=True)
        self._tell("set -eo pipefail")
        self._psql = None
        self._blocks = 0

    def here(self, text):
        """The text with the address and the directory of this broker."""
        return text.replace("localhost:6632", f"localhost:{self._broker.port}").replace("/var/lib/queen",
                                                                                     self._broker.data_dir)

    def _tell(self, line):
        self._shell.stdin.write((line + "\n").encode())
        self._shell.stdin.flush()

    def write(self, name, text):
        """A file in the working directory of the shell."""
        with open(os.path.join(self.directory, name), "w", encoding="utf-8") as file:
            file.write(self.here(text))

    def shell(self, text, fails=False):
        """Runs it; returns what it printed on standard output."""
        self._blocks += 1
        name = f".block{self._blocks}"
        self.write(name, text)
        into = f">{name}.out 2>{name}.err </dev/null"
        self._tell(f"if (. ./{name}) {into}; then false; fi; echo end" if fails else f". ./{name} {into}; echo end")
        ready, _, _ = select.select([self._shell.stdout], [], [], SECONDS_MAX)
        said = self._shell.stdout.readline() if ready else b""
        printed, errors = (self._read(f"{name}.{kind}") for kind in ("out", "err"))
        if said != b"end\n":
            how = "took too long" if not ready else "succeeded, but should fail" if fails else "failed"
            raise Failed(f"the commands {how}\n{printed}{errors}")
        return printed

    def _read(self, name):
        with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def sql(self, text):
        """Runs it in the psql of this page; returns the tables it printed."""
        if self._psql is None:
            self._psql = PsqlSession(self._postgres, form="-Xq")
        try:
            return self._psql.run(text)
        except (AssertionError, BrokenPipeError) as error:
            raise Failed(str(error)) from None

    def close(self):
        """Ends shell and psql and removes the directory."""
        if self._psql is not None:
            self._psql.close()
        self._shell.kill()
        self._shell.wait(30)
        self._shell.stdin.close()
        self._shell.stdout.close()
        shutil.rmtree(self.directory, ignore_errors=True)
