"""A client that leaves before it has heard of its lease."""

import socket

from chaos.stranger import Stranger
from support.process import wait_until


class LeavingClient:
    """Has sent a pop of the path and left; its lease waits for a stranger's lock, until `unlock()`."""

    def __init__(self, broker, postgres, path):
        stranger = Stranger(postgres)
        stranger.run("BEGIN")
        stranger.run("LOCK TABLE queen.progress IN SHARE ROW EXCLUSIVE MODE")  # rows may be read, not added
        with socket.create_connection((broker.host, broker.port), 30) as client:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            wait_until(lambda: int(postgres.psql(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND query LIKE '%leases%append_lanes%'")) == 1, 60, "the lease to be sent")
        for _ in range(2):  # one loop serves both: it has seen the end of the other
            assert broker.get("/livez").status == 200
        self.unlock = stranger.close
