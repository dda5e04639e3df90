"""Broker: one `queen serve` process, its directory, its log, and requests to it."""

import os
import shutil
import signal
import subprocess
import tempfile

from . import http_client, shared_memory
from .process import free_port, run, send, spawn, wait_until

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Nothing of the caller's configuration reaches the broker, but what sanitizers read does.
INHERITED = ("PATH", "HOME", "LANG", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")


def binary():
    """The program under test."""
    return os.environ.get("QUEEN_BINARY") or os.path.join(REPOSITORY, "build", "queen")


def sanitized():
    """Does the program under test carry a sanitizer?"""
    with open(binary(), "rb") as program:
        code = program.read()
    return b"__asan_init" in code or b"__tsan_init" in code


def base_environment():
    """The environment every broker starts from."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


class Broker:
    """Made stopped; `start` it. Without a database in `env` it runs its own cluster in `data_dir`.

    `env` is added to an almost empty environment; `args` are added to `queen serve`. A `data_dir`
    given by the caller is kept by `close`, for another broker to continue with. `program` is another
    binary than the one under test; it may be changed while the broker is stopped. `descriptors` is
    the limit of open files it starts with: a number, or "soft:hard".
    """

    def __init__(self, *args, env=None, data_dir=None, port=None, program=None, descriptors=None):
        self.args = list(args)
        self.program = program or binary()
        self.descriptors = descriptors
        self.directory = tempfile.mkdtemp(prefix="queen-test-broker.", dir="/tmp")
        os.chmod(self.directory, 0o755)  # the cluster's user passes through
        self.data_dir = data_dir or os.path.join(self.directory, "data")
        self.port = port or free_port()
        self.listens_on = ""  # HOST, "" = `host`; None leaves it to the broker
        self.tls = None  # an ssl.SSLContext to speak HTTPS with
        self.env = base_environment()
        self.env.update(env or {})
        self.log_path = os.path.join(self.directory, "broker.log")
        self._process = None

    @property
    def host(self):
        """Where it listens."""
        return "127.0.0.1"

    @property
    def url(self):
        """Base of its HTTP interface."""
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def pid(self):
        """Its process, or None when it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    @property
    def cluster_directory(self):
        """PGDATA of the embedded cluster."""
        return os.path.join(self.data_dir, "postgres")

    def command(self):
        """What `start` runs."""
        limits = ["prlimit", f"--nofile={self.descriptors}"] if self.descriptors else []
        listens_on = self.host if self.listens_on == "" else self.listens_on
        host = ["--host", listens_on] if listens_on else []
        return limits + [self.program, "serve", *host, "--port", str(self.port), "--data-dir",
                         self.data_dir] + self.args

    def start(self, until="ready", seconds=90):
        """Starts it; returns when it is "ready" (/readyz), "live" (/livez), or at once (None)."""
        assert self.pid is None, "it runs already"
        with open(self.log_path, "ab") as log:
            self._process = spawn(self.command(), output=log, env=self.env, cwd=self.directory)
        if until is not None:
            self.wait_for({"ready": "/readyz", "live": "/livez"}[until], 200, seconds)
        return self

    def run_to_end(self, seconds=60):
        """Runs it when it is expected to exit by itself; returns (exit code, output)."""
        return run(self.command(), check=False, timeout=seconds, env=self.env)

    def wait_for(self, path, status, seconds=60):
        """Returns the reply when GET `path` answers `status`; fails if the process ends first."""
        def answers():
            if self._process.poll() is not None:
                raise AssertionError(f"the broker exited with {self._process.returncode}")
            reply = self.try_get(path)
            return reply if reply is not None and reply.status == status else None
        return wait_until(answers, seconds, f"GET {path} to answer {status}")

    def stop(self, sig=signal.SIGTERM, seconds=60):
        """Asks it to end; returns its exit code."""
        send(self._process.pid, sig)
        return self.wait_exit(seconds)

    def wait_exit(self, seconds=60):
        """Returns its exit code once it has ended by itself."""
        try:
            return self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the broker still runs after {seconds} s") from None

    def kill9(self):
        """Ends it without warning."""
        send(self._process.pid, signal.SIGKILL)
        self._process.wait(timeout=60)

    def pause(self):
        """Freezes its process; `resume` continues."""
        send(self._process.pid, signal.SIGSTOP)

    def resume(self):
        """Ends `pause`."""
        send(self._process.pid, signal.SIGCONT)

    def postmaster_pid(self):
        """The embedded cluster's server, or None."""
        try:
            with open(os.path.join(self.cluster_directory, "postmaster.pid"), encoding="utf-8") as file:
                return int(file.readline())
        except (OSError, ValueError):
            return None

    def request(self, method, path, body=None, headers=None, timeout=30):
        """One request; see http_client.request."""
        return http_client.request(self.host, self.port, method, path, body, headers, timeout, self.tls)

    def get(self, path, **options):
        """GET."""
        return self.request("GET", path, **options)

    def post(self, path, body=None, **options):
        """POST."""
        return self.request("POST", path, body, **options)

    def try_get(self, path, timeout=5):
        """GET, or None when nobody answers."""
        try:
            return self.get(path, timeout=timeout)
        except OSError:
            return None

    def log(self):
        """What it wrote so far."""
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def close(self):
        """Ends it (and with it its cluster) and removes its files."""
        if self.pid is not None:
            self.resume()
            send(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self.kill9()
        postmaster = self.postmaster_pid()
        if postmaster is not None:
            self._end_postmaster(postmaster)
        shared_memory.give_back(self.cluster_directory)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _end_postmaster(self, pid):
        """A server that outlived its broker; checked to be ours, because pids are reused."""
        def is_ours():
            try:
                return os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(self.cluster_directory)
            except OSError:
                return False
        if is_ours():
            send(pid, signal.SIGQUIT)
            wait_until(lambda: not is_ours(), what="the embedded server to end")
