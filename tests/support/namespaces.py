"""Network namespaces: a bridge with brokers behind it, each in a namespace of its own, and links that lose
and delay packets (`ip netns`, `tc netem`). PostgreSQL is reached through its Unix socket, which no fault of
the network concerns."""

import os
import shutil
import subprocess

from .broker import Broker


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def reason_to_skip(impaired=False):
    """Why this machine has no namespaces for us, or None; `impaired`: with links that lose and delay."""
    for tool in ("ip", "tc"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (Debian: iproute2)"
    if os.geteuid() != 0:
        return "network namespaces need root"
    name = f"queen-{os.getpid()}"
    try:
        _ip("netns", "add", name)
        try:
            if impaired:
                _ip("netns", "exec", name, "tc", "qdisc", "add", "dev", "lo", "root", "netem", "loss", "1%")
        finally:
            _ip("netns", "del", name)
    except subprocess.CalledProcessError as error:
        return f"this kernel refuses `{' '.join(error.cmd)}`: {error.stderr.strip()}"
    return None


class Namespaces:
    """Made with `count` of them, numbered from 0; `address` is where each is reached from here."""

    def __init__(self, count):
        self.prefix = f"queen-{os.getpid()}"
        self.bridge = f"qb{os.getpid()}"
        self.net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.count = count
        self._made = []
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.net}.1/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")
        for number in range(count):
            self._add(number)

    def name(self, number):
        """Of a namespace."""
        return f"{self.prefix}-{number}"

    def address(self, number):
        """Of a namespace, on the bridge."""
        return f"{self.net}.{number + 2}"

    def _device(self, number):
        return f"qv{os.getpid()}n{number}"

    def _add(self, number):
        name, outside = self.name(number), self._device(number)
        _ip("netns", "add", name)
        self._made.append(name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", outside, "master", self.bridge, "up")
        _ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
        _ip("-n", name, "link", "set", "eth0", "up")
        _ip("-n", name, "link", "set", "lo", "up")

    def impair(self, number, *netem):
        """What `tc netem` does to all that a namespace sends, such as "loss", "20%"."""
        subprocess.run(["ip", "netns", "exec", self.name(number), "tc", "qdisc", "replace", "dev", "eth0", "root",
                        "netem", *netem], check=True, capture_output=True)

    def cut_off(self, number, cut=True):
        """Whether a namespace and the others reach each other; from here all are reached all the same."""
        for other in range(self.count):
            for one, to in ((number, other), (other, number)) if other != number else ():
                _ip("-n", self.name(one), "route", "add" if cut else "del", "blackhole", f"{self.address(to)}/32")

    def close(self):
        """Removes all of it."""
        for name in self._made:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], check=False, capture_output=True)


class BrokerInNamespace(Broker):
    """A broker that lives in one of them."""

    def __init__(self, namespaces, number, *args, **options):
        super().__init__(*args, **options)
        self._namespaces, self._number = namespaces, number

    @property
    def host(self):
        return self._namespaces.address(self._number)

    def command(self):
        return ["ip", "netns", "exec", self._namespaces.name(self._number)] + super().command()
