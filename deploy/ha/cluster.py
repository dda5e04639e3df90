"""Three database nodes (PostgreSQL under Patroni, with etcd beside it) and two brokers, all on the loopback.

Each node has an address of its own, as a machine would: 127.0.0.11 to 127.0.0.13. Everything lives in one
directory; cluster.json in it says which processes run and on which ports.
"""

import argparse
import glob
import http.client
import json
import os
import re
import secrets
import shutil
import signal
import string
import sys
import time

import processes

HERE = os.path.dirname(os.path.abspath(__file__))
NODES = {"node1": "127.0.0.11", "node2": "127.0.0.12", "node3": "127.0.0.13"}
BROKERS = ("broker1", "broker2")
BROKER_HOST = "127.0.0.1"
DEFAULT_DIRECTORY = "/tmp/queen-ha"
START_SECONDS = 180
STOP_SECONDS = 30


class Trouble(Exception):
    """What the commands print instead of a stack of calls."""


def command(main, description):
    """Runs main(directory) of one of the commands; returns the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("directory", nargs="?", default=DEFAULT_DIRECTORY, help=f"default {DEFAULT_DIRECTORY}")
    try:
        main(parser.parse_args().directory)
        return 0
    except Trouble as trouble:
        print(f"{parser.prog}: {trouble}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def wait_until(condition, seconds, what):
    """Polls until condition() is true and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Trouble(f"waited {seconds} s in vain for {what}")
        time.sleep(0.1)


def get_json(host, port, path, timeout=3):
    """(status, body) of a GET, or (None, None) when nobody answers."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        text = reply.read()
        return reply.status, json.loads(text) if text else None
    except (OSError, http.client.HTTPException, ValueError):
        return None, None
    finally:
        connection.close()


class Cluster:
    """The example in one directory. `create` makes a new one, `Cluster(directory)` finds one that was made."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        self.user = processes.unprivileged()
        try:
            with open(self._path("cluster.json"), encoding="utf-8") as file:
                self.state = json.load(file)
        except OSError as error:
            raise Trouble(f"there is no cluster in {self.directory}; deploy/ha/start makes one") from error

    @classmethod
    def create(cls, directory, queen):
        """A new one that does not run yet. REQUIRES: the directory is empty or is not there."""
        for program in ("etcd", "patroni"):
            if shutil.which(program) is None:
                raise Trouble(f"{program} is not installed; run scripts/setup run ha")
        if not os.access(queen, os.X_OK):
            raise Trouble(f"{queen} is not there; run make build")
        os.makedirs(directory, exist_ok=True)
        if os.listdir(directory):
            raise Trouble(f"{directory} is not empty; deploy/ha/start continues a cluster only if it holds one")
        os.chmod(directory, 0o755)
        ports, taken = {}, set()
        for what in ("postgres", "rest", "etcd", "etcd_peer", *BROKERS):
            where = [BROKER_HOST] if what in BROKERS else list(NODES.values())
            ports[what] = processes.free_port(where, taken)
            taken.add(ports[what])
        state = {"queen": os.path.abspath(queen), "password": secrets.token_hex(16), "ports": ports,
                 "etcd": {}, "patroni": {}, "brokers": {}}
        path = os.path.join(directory, "cluster.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            json.dump(state, file)
        return cls(directory)

    # ---- starting and stopping

    def start(self):
        """Starts what does not run; returns when both brokers are ready and a standby is synchronous."""
        for name in NODES:
            self.start_node(name)
        self.wait_for_leader(START_SECONDS)
        for name in BROKERS:
            self._start_broker(name)
        for name in BROKERS:
            wait_until(lambda n=name: self.broker_ready(n), START_SECONDS, f"{name} to be ready")
        wait_until(lambda: len(self.members("sync_standby")) == 1, START_SECONDS, "a synchronous standby")

    def start_node(self, name):
        """etcd and Patroni of one node; Patroni makes and starts its PostgreSQL."""
        address, ports = NODES[name], self.state["ports"]
        directory = self._make_directory(name)
        if not processes.is_running(self.state["etcd"].get(name)):
            peers = ",".join(f"{n}=http://{a}:{ports['etcd_peer']}" for n, a in NODES.items())
            self._run("etcd", name, [
                "etcd", "--name", name, "--data-dir", os.path.join(directory, "etcd"),
                "--listen-client-urls", f"http://{address}:{ports['etcd']}",
                "--advertise-client-urls", f"http://{address}:{ports['etcd']}",
                "--listen-peer-urls", f"http://{address}:{ports['etcd_peer']}",
                "--initial-advertise-peer-urls", f"http://{address}:{ports['etcd_peer']}",
                "--initial-cluster", peers, "--initial-cluster-token", "queen-ha",
                # Patient, because all nodes share one machine here.
                "--heartbeat-interval", "250", "--election-timeout", "2500", "--logger", "zap"], directory)
        if not processes.is_running(self.state["patroni"].get(name)):
            self._write_patroni_configuration(name, directory)
            self._run("patroni", name, ["patroni", os.path.join(directory, "patroni.yml")], directory,
                      {"QUEEN_PASSWORD": self.state["password"]})  # for make_database

    def kill_node(self, name):
        """Everything on it dies at once, as when the machine loses its power."""
        victims = [self.state["patroni"].get(name), self.state["etcd"].get(name)]
        postmaster = self._postmaster(name)
        if postmaster is not None:
            victims += processes.family_of(postmaster)
        for process in victims:
            processes.end(process, signal.SIGKILL)
        wait_until(lambda: not any(processes.is_running(process) for process in victims), 10, f"{name} to die")

    def stop(self):
        """Ends everything that was started here: brokers, then the databases, then etcd."""
        for kind in ("brokers", "patroni"):
            processes.end_all(list(self.state[kind].values()), STOP_SECONDS)
        # Whatever a Patroni that was killed has left running.
        left = [process for name in NODES for process in processes.family_of(self._postmaster(name))]
        processes.end_all(left, STOP_SECONDS, signal.SIGQUIT)
        # One by one: a leader waits for a moment to be replaced by another one.
        for process in self.state["etcd"].values():
            processes.end_all([process], STOP_SECONDS)
        self.state.update(etcd={}, patroni={}, brokers={})
        self._save()

    def running(self):
        """Names of what runs, such as "etcd node1"."""
        return [f"{kind} {name}" for kind in ("etcd", "patroni", "brokers")
                for name, process in self.state[kind].items() if processes.is_running(process)]

    # ---- looking

    def describe(self):
        """Every node and every broker in a line each, for people."""
        seen = {member["name"]: member for member in self.members()}
        lines = []
        for name, address in NODES.items():
            member = seen.get(name, {})
            lines.append(f"{name}    {address}:{self.state['ports']['postgres']}  "
                         f"{member.get('role', 'unknown'):<13} {member.get('state', ''):<10} "
                         f"timeline {member.get('timeline', '-')}  behind {member.get('lag', 0)} bytes")
        for name in BROKERS:
            host, port = self.broker_address(name)
            lines.append(f"{name}  http://{host}:{port}  {'ready' if self.broker_ready(name) else 'not ready'}")
        return "\n".join(lines)

    def members(self, role=None):
        """The nodes as Patroni sees them (name, role, state, timeline, lag), or only those with a role."""
        for name, address in NODES.items():
            if processes.is_running(self.state["patroni"].get(name)):
                _, view = get_json(address, self.state["ports"]["rest"], "/cluster")
                if view is not None:
                    return [member for member in view["members"] if role in (None, member["role"])]
        return []

    def leader(self):
        """The name of the node that takes writes, or None."""
        for name, address in NODES.items():
            if processes.is_running(self.state["patroni"].get(name)):
                status, _ = get_json(address, self.state["ports"]["rest"], "/primary")
                if status == 200:
                    return name
        return None

    def wait_for_leader(self, seconds, other_than=None):
        """Returns its name."""
        def found():
            name = self.leader()
            return name if name != other_than else None
        return wait_until(found, seconds, "a primary")

    def broker_address(self, name):
        """(host, port)."""
        return BROKER_HOST, self.state["ports"][name]

    def broker_ready(self, name):
        """Does it serve?"""
        return get_json(*self.broker_address(name), "/readyz")[0] == 200

    def log(self):
        """The last lines of every log, for whoever looks for a cause."""
        parts = []
        for path in sorted(glob.glob(self._path("*", "*.log"))):
            with open(path, encoding="utf-8", errors="replace") as file:
                parts.append(f"-- {path}\n{file.read()[-4000:]}")
        return "\n".join(parts)

    # ---- inside

    def _path(self, *parts):
        return os.path.join(self.directory, *parts)

    def _save(self):
        """A new file in the place of the old one: a reader never sees half of it."""
        with open(self._path("cluster.json.new"), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            json.dump(self.state, file, indent=1)
        os.rename(self._path("cluster.json.new"), self._path("cluster.json"))

    def _make_directory(self, name):
        path = self._path(name)
        os.makedirs(path, mode=0o700, exist_ok=True)
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)
        return path

    def _run(self, kind, name, argv, directory, env=None):
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C.UTF-8", "HOME": directory}
        self.state[kind][name] = processes.start(argv, os.path.join(directory, f"{os.path.basename(argv[0])}.log"),
                                                 environment | (env or {}), self.user, directory)
        self._save()

    def _start_broker(self, name):
        if processes.is_running(self.state["brokers"].get(name)):
            return
        directory = self._make_directory(name)
        host, port = self.broker_address(name)
        # All three databases: the broker goes to the one that takes writes.
        self._run("brokers", name, [self.state["queen"], "serve", "--host", host, "--port", str(port),
                                    "--data-dir", os.path.join(directory, "data")], directory,
                  {"PG_HOST": ",".join(NODES.values()), "PG_PORT": str(self.state["ports"]["postgres"]),
                   "PG_TARGET_SESSION_ATTRS": "read-write", "PG_USER": "queen", "PG_DB": "queen",
                   "PG_PASSWORD": self.state["password"]})

    def _write_patroni_configuration(self, name, directory):
        ports = self.state["ports"]
        with open(os.path.join(HERE, "patroni.yml"), encoding="utf-8") as file:
            text = string.Template(file.read()).substitute(
                name=name, address=NODES[name], rest_port=ports["rest"], postgres_port=ports["postgres"],
                etcd_hosts=",".join(f"{address}:{ports['etcd']}" for address in NODES.values()),
                bin_dir=server_programs(), directory=directory, password=self.state["password"],
                make_database=self._copy_of("make_database"), shared_buffers="64MB")
        path = os.path.join(directory, "patroni.yml")
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
        if self.user is not None:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def _copy_of(self, program):
        """Where the user of the servers may run it; our own directory may be closed to them."""
        path = self._path(program)
        if not os.path.exists(path):
            shutil.copy(os.path.join(HERE, program), path)
            os.chmod(path, 0o755)
        return path

    def _postmaster(self, name):
        """Pid of the node's PostgreSQL, or None."""
        try:
            with open(self._path(name, "data", "postmaster.pid"), encoding="utf-8") as file:
                pid = int(file.readline())
            ours = os.readlink(f"/proc/{pid}/cwd") == os.path.realpath(self._path(name, "data"))
            return pid if ours else None
        except (OSError, ValueError):
            return None


def server_programs():
    """The directory of the newest PostgreSQL server installed."""
    found = [path for path in glob.glob("/usr/lib/postgresql/*/bin")
             if os.access(os.path.join(path, "postgres"), os.X_OK)]
    if not found:
        raise Trouble("no PostgreSQL server is installed; run scripts/setup run")
    return max(found, key=lambda path: int(re.search(r"/(\d+)/bin$", path).group(1)))
