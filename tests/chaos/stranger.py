"""Stranger: a session on PostgreSQL that is not the broker's, and that holds what the broker needs.

Speaks just enough of the protocol, over the Unix socket, so that hundreds may be opened in no time and
a statement may be left waiting for its answer.
"""

import os
import socket
import struct


class Refused(Exception):
    """PostgreSQL took no connection, or refused a statement: SQLSTATE and text."""

    def __init__(self, sqlstate, text):
        super().__init__(f"{sqlstate} {text}")
        self.sqlstate = sqlstate


class Stranger:
    """One session of the role queen. Raises Refused, and OSError when the server has gone."""

    def __init__(self, postgres, role="queen"):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(60)
        try:
            self._socket.connect(os.path.join(postgres.directory, f".s.PGSQL.{postgres.port}"))
            startup = f"user\0{role}\0database\0queen\0application_name\0stranger\0\0".encode()
            self._socket.sendall(struct.pack("!ii", len(startup) + 8, 196608) + startup)
            self.finish()
        except BaseException:
            self._socket.close()
            raise

    def run(self, sql):
        """Runs it to its end."""
        self.begin(sql)
        self.finish()

    def begin(self, sql):
        """Sends it and does not wait."""
        data = sql.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(data) + 4) + data)

    def finish(self):
        """Waits for the end of what was begun."""
        refused = None
        while True:
            kind, body = self._read()
            if kind == b"E":
                fields = {part[:1]: part[1:].decode() for part in body.split(b"\0") if part}
                refused = Refused(fields[b"C"], fields[b"M"])
                if fields[b"S"] == "FATAL":
                    raise refused
            elif kind == b"Z":
                if refused:
                    raise refused
                return

    def close(self):
        """The server rolls back what was open."""
        self._socket.close()

    def _read(self):
        head = self._exactly(5)
        return head[:1], self._exactly(struct.unpack("!i", head[1:])[0] - 4)

    def _exactly(self, count):
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            if not part:
                raise ConnectionError("PostgreSQL closed the connection")
            data += part
        return data
