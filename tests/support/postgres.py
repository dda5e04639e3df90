"""Postgres: a throw-away cluster outside the broker, and what can go wrong with it.

Listens on the loopback (password) and on a Unix socket in its own directory (trust, for psql). Role
and database `queen`; the role is no superuser, because the broker must not need one. Runs as an
unprivileged user. fsync is off unless asked for: killing a process loses nothing the kernel has.
"""

import atexit
import glob
import os
import re
import shutil
import signal
import tempfile
import urllib.parse

from . import shared_memory
from .process import children_of, free_port, give_to, is_running, run, send, spawn, unprivileged, \
    wait_until

PASSWORD = "queen's secret"


def bin_directory():
    """The directory of the newest installed server."""
    found = [path for path in glob.glob("/usr/lib/postgresql/*/bin")
             if os.access(os.path.join(path, "postgres"), os.X_OK)]
    if not found:
        raise AssertionError("no PostgreSQL server is installed; run scripts/setup run")
    return max(found, key=lambda path: int(re.search(r"/(\d+)/bin$", path).group(1)))


def control_state(cluster_directory):
    """What pg_controldata calls the state of a stopped cluster, such as "shut down"."""
    _, output = run([os.path.join(bin_directory(), "pg_controldata"), cluster_directory])
    return re.search(r"^Database cluster state:\s*(.*)$", output, re.MULTILINE).group(1)


class Postgres:
    """One cluster. Made stopped; `start` it. `close` removes everything."""

    _template = None

    def __init__(self, settings=None):
        self.bin = bin_directory()
        self.user = unprivileged()
        self.directory = tempfile.mkdtemp(prefix="queen-test-pg.", dir="/tmp")
        give_to(self.directory, self.user)
        self.data = os.path.join(self.directory, "data")
        self.log_path = os.path.join(self.directory, "server.log")
        self.port = free_port()
        self.settings = {"fsync": "off", "shared_buffers": "64MB", "max_connections": "200",
                         "log_min_error_statement": "panic"}
        self.settings.update(settings or {})
        self._process = None
        self._made_queen = False
        self._initdb()

    @property
    def host(self):
        """Where it listens."""
        return "127.0.0.1"

    @property
    def url(self):
        """For DATABASE_URL, over TCP with the password."""
        return self.url_at(self.host, self.port)

    def url_at(self, host, port):
        """The same through another address, such as a Proxy's."""
        return f"postgresql://queen:{urllib.parse.quote(PASSWORD)}@{host}:{port}/queen"

    def env(self, host=None, port=None):
        """The same as PG_* variables."""
        return {"PG_HOST": host or self.host, "PG_PORT": str(port or self.port), "PG_USER": "queen",
                "PG_PASSWORD": PASSWORD, "PG_DB": "queen"}

    @property
    def pid(self):
        """The postmaster's, or None when it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self, wait=True):
        """Starts the server and, if `wait`, returns when it serves."""
        assert self.pid is None, "it runs already"
        argv = [os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.directory,
                "-h", self.host, "-p", str(self.port)]
        for name, value in self.settings.items():
            argv += ["-c", f"{name}={value}"]
        with open(self.log_path, "ab") as log:
            self._process = spawn(argv, user=self.user, output=log, env=self._environment(),
                                  cwd=self.data, dies_with=signal.SIGQUIT)
        if wait:
            self.wait_ready()

    def wait_ready(self, seconds=60):
        """Returns when the server serves, with the role and the database queen in it."""
        wait_until(self._is_ready, seconds, "PostgreSQL to serve")
        if not self._made_queen:
            quoted = PASSWORD.replace("'", "''")
            self.psql(f"CREATE ROLE queen LOGIN PASSWORD '{quoted}'", "postgres", "postgres")
            self.psql("CREATE DATABASE queen OWNER queen", "postgres", "postgres")
            self._made_queen = True

    def stop(self, mode="fast"):
        """Shuts down: "smart" waits for clients, "fast" does not, "immediate" leaves recovery."""
        if self.pid is None:
            return
        sig = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode]
        send(self._process.pid, sig)
        self._process.wait(timeout=60)

    def restart(self, mode="fast"):
        """Stops and starts; returns when it serves again."""
        self.stop(mode)
        self.start()

    def kill9(self):
        """Everything dies at once, as in a crash of the machine; `start` recovers."""
        if self.pid is None:
            return
        victims = [self._process.pid] + children_of(self._process.pid)
        for pid in victims:
            send(pid, signal.SIGKILL)
        self._process.wait(timeout=60)
        wait_until(lambda: not any(is_running(pid) for pid in victims), what="the servers to die")

    def kill_postmaster(self):
        """Only the first process dies; the others notice. Returns when they have ended as well."""
        children = children_of(self._process.pid)
        send(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)
        wait_until(lambda: not any(is_running(pid) for pid in children), 60, "the servers to end")

    def backends(self, where="true"):
        """Pids of queen's connections that fulfil a condition on pg_stat_activity."""
        return [int(pid) for pid in self.psql(
            "SELECT pid FROM pg_stat_activity WHERE usename = 'queen' AND backend_type = "
            f"'client backend' AND {where}", "postgres", "postgres").split()]

    def pause(self):
        """Stops every process without closing anything: connections hang, new ones too."""
        send(self._process.pid, signal.SIGSTOP)  # first, so that it starts no more children
        for pid in children_of(self._process.pid):
            send(pid, signal.SIGSTOP)

    def resume(self):
        """Ends `pause`."""
        for pid in children_of(self._process.pid) + [self._process.pid]:
            send(pid, signal.SIGCONT)

    def psql(self, sql, database="queen", role="queen", check=True):
        """Runs SQL over the Unix socket; returns what psql prints, unaligned and without titles."""
        argv = [os.path.join(self.bin, "psql"), "-XAtqw", "-v", "ON_ERROR_STOP=1", "-h",
                self.directory, "-p", str(self.port), "-U", role, "-d", database, "-c", sql]
        _, output = run(argv, check=check, env=self._environment())
        return output.strip()

    def terminate_backends(self):
        """Ends every connection of queen from the server's side."""
        return self.psql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                         "WHERE usename = 'queen'", "postgres", "postgres")

    def log(self):
        """What the server wrote so far."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def close(self):
        """Ends the server and removes its files."""
        if self.pid is not None:
            self.resume()
            self.kill9()
        shared_memory.give_back(self.data)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _initdb(self):
        """A copy of one cluster made per run: copying is several times faster than initdb."""
        if not Postgres._template:
            template = tempfile.mkdtemp(prefix="queen-test-template.", dir="/tmp")
            atexit.register(shutil.rmtree, template, ignore_errors=True)
            give_to(template, self.user)
            run([os.path.join(self.bin, "initdb"), "-D", os.path.join(template, "data"), "-U",
                 "postgres", "-E", "UTF8", "--locale=C.UTF-8", "--auth-local=trust",
                 "--auth-host=scram-sha-256", "-N", "--no-instructions"],
                user=self.user, env=self._environment())
            Postgres._template = os.path.join(template, "data")
        run(["cp", "-a", Postgres._template, self.data], user=self.user)

    def _is_ready(self):
        if self._process.poll() is not None:
            raise AssertionError(f"PostgreSQL exited with {self._process.returncode}:\n{self.log()}")
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                lines = file.read().splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    @staticmethod
    def _environment():
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", "TZ": "UTC"}
