"""A small asynchronous HTTP client: kept connections, one request at a time on each."""

import asyncio
import json
import socket


class Client:
    """Requests to one broker; as many at once as are asked for."""

    def __init__(self, host, port):
        self.host, self.port = host, port
        self._idle = []

    async def request(self, method, path, body=None):
        """(status, parsed body or None). A caller that is cancelled leaves like a client that goes away."""
        reader, writer = self._idle.pop() if self._idle else await self._connect()
        try:
            writer.write(self._encode(method, path, body))
            reply = await self._read(reader)
        except BaseException:
            writer.close()
            raise
        self._idle.append((reader, writer))
        return reply

    async def warm(self, count):
        """Has that many connections at hand."""
        made = await asyncio.gather(*(self._connect() for _ in range(count - len(self._idle))))
        self._idle.extend(made)

    def close(self):
        """Drops the connections."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _connect(self):
        reader, writer = await asyncio.open_connection(self.host, self.port, limit=1 << 24)
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return reader, writer

    def _encode(self, method, path, body):
        data = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: {len(data)}\r\n\r\n"
        return head.encode() + data

    @staticmethod
    async def _read(reader):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next((int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
        text = await reader.readexactly(length) if length else b""
        return int(head.split()[1]), json.loads(text) if text else None
