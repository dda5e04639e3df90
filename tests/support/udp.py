"""Packets between brokers, as src/cluster/packet.h has them, and a wire that the test holds in its hands."""

import hashlib
import hmac
import os
import random
import select
import socket
import struct
import threading

SECRET = "a secret of tests"
MAGIC, VERSION = b"QNP", 1
HEARTBEAT, PRESENCE, MESSAGE_AVAILABLE, PARTITION_FREE, QUEUE_CHANGED, MAINTENANCE_CHANGED, \
    PRESENCE_ADDED = range(1, 8)


def name(text):
    """A name in a record."""
    data = text.encode()
    return struct.pack(">H", len(data)) + data


def record(kind, body=b""):
    """One record."""
    return struct.pack(">BH", kind, len(body)) + body


def message_available(queue, partitions):
    """partitions: [(id, name)]."""
    body = name(queue) + struct.pack(">H", len(partitions))
    return record(MESSAGE_AVAILABLE, body + b"".join(struct.pack(">i", i) + name(text) for i, text in partitions))


def packet(records=b"", session=None, ticket=0, sequence=1, secret=SECRET, version=VERSION):
    """A datagram, signed."""
    data = MAGIC + bytes([version]) + (session or os.urandom(16)) + struct.pack(">QQ", ticket, sequence) + records
    return data + hmac.new(secret.encode(), data, hashlib.sha256).digest()


def kinds(data):
    """The kinds of a packet's records, in order."""
    found, place, end = [], 36, len(data) - 32
    while place < end:
        kind, length = struct.unpack_from(">BH", data, place)
        found.append(kind)
        place += 3 + length
    return found


def free_udp_port():
    """A UDP port nobody has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Wire:
    """Carries packets between two brokers, each of which names the wire as its peer.

    The faults are attributes: `cut` drops all, `loss` drops that share, `twice` sends each two times;
    `seen` has what passed.
    """

    def __init__(self, ports, seed=0):
        self.ends = [("127.0.0.1", port) for port in ports]
        self.cut = False
        self.loss = 0.0
        self.twice = False
        self.seen = []
        self.rng = random.Random(seed)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self._over = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        while not self._over:
            if not select.select([self.socket], [], [], 0.05)[0]:
                continue
            try:
                data, sender = self.socket.recvfrom(65536)
            except OSError:  # nobody listens at an end
                continue
            if self.cut or sender not in self.ends or self.rng.random() < self.loss:
                continue
            self.seen.append((sender, data))
            for _ in range(2 if self.twice else 1):
                self.send(self.ends[1 - self.ends.index(sender)], data)

    def send(self, end, data):
        """To one end, from the address that it knows as its peer's."""
        self.socket.sendto(data, end)

    def close(self):
        """Ends it."""
        self._over = True
        self._thread.join()
        self.socket.close()
