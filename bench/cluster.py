"""Brokers that know each other, for the benchmarks of this directory."""
import os
import socket
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from tests.support.broker import Broker  # noqa: E402
from tests.support.process import children_of  # noqa: E402
from tests.support.shared_state import wait_acquainted  # noqa: E402
from tests.support.udp import SECRET, free_udp_port  # noqa: E402


def start_brokers(stack, postgres, count, told=True):
    """`count` brokers, closed by the ExitStack; `told`: they tell each other what is new."""
    ports = [free_udp_port() for _ in range(count)]
    env = {"QUEEN_UDP_PEERS": ",".join(f"127.0.0.1:{port}" for port in ports), "QUEEN_SYNC_SECRET": SECRET}
    brokers = []
    for port in ports:
        own = env | {"QUEEN_UDP_NOTIFY_PORT": str(port)} if told else {}
        broker = Broker("--num-workers", "2", env=postgres.env() | own)
        stack.callback(broker.close)
        brokers.append(broker.start())
    if told:
        wait_acquainted(brokers)
    return brokers


def processor_seconds(*pids):
    """User and system time of these processes and their children, those that have ended included."""
    total = 0
    for pid in pids:
        for one in [pid] + children_of(pid):
            try:
                with open(f"/proc/{one}/stat", encoding="utf-8") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            total += sum(int(field) for field in fields[11:13])
            if one == pid:
                total += sum(int(field) for field in fields[13:15])
    return total / os.sysconf("SC_CLK_TCK")


class Balancer:
    """Takes connections and joins each to the next of several addresses, in turn."""

    def __init__(self, addresses):
        self._addresses = list(addresses)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        turn = 0
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            broker = socket.create_connection(self._addresses[turn % len(self._addresses)])
            turn += 1
            for one, other in ((client, broker), (broker, client)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    @staticmethod
    def _carry(one, other):
        try:
            while data := one.recv(1 << 16):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        """No more connections."""
        self._listener.close()
