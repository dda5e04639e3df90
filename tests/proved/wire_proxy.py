"""WireProxy: a Proxy in front of PostgreSQL that reads what clients send.

    hold(text)    a connection on which `text` is sent stops there, and only it; wait_held() returns when
                  that has happened, release() lets it go on
    hold_reply(text)  the connection on which `text` is sent next has it answered, but hears nothing; wait_held()
                  returns when the answer is there, release() lets it through
    groups()      what was sent since record(), as one list per Sync: the names of the statements executed
"""

import asyncio
import struct
import threading

from support.proxy import Proxy


class WireProxy(Proxy):
    """See above. What is not a message of the extended protocol (the start of a session) is passed over."""

    def __init__(self, host, port):
        self._needle = None
        self._reply_needle = None
        self._silent = None  # the client whose answers are held back
        self._held = threading.Event()
        self._recording = False
        self._groups = []
        super().__init__(host, port)
        self._call(self._make_release())

    def hold(self, text):
        self._needle = text

    def hold_reply(self, text):
        self._reply_needle = text

    def wait_held(self, seconds=30):
        assert self._held.wait(seconds), f"nobody sent {self._needle}"

    def release(self):
        self._needle = self._silent = None
        self._loop.call_soon_threadsafe(self._released.set)

    def record(self):
        self._groups = []
        self._recording = True

    def groups(self):
        return list(self._groups)

    async def _make_release(self):
        self._released = asyncio.Event()

    async def _pump(self, reader, writer, gate):
        if gate is not self._requests:
            return await super()._pump(reader, writer, _ReplyGate(self, gate, writer.transport))
        session = _Session()
        while True:
            data = await reader.read(65536)
            await gate.wait()
            groups = session.feed(data)
            if self._recording:
                self._groups += groups
            if self._reply_needle is not None and self._reply_needle in data:
                self._reply_needle = None
                self._silent = reader._transport  # that of the writer to this client
            if self._needle is not None and self._needle in data:
                self._held.set()
                await self._released.wait()
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return None
            writer.write(data)
            await writer.drain()


class _ReplyGate:
    """Passed by answers when the proxy's gate is open and their client is not held back."""

    def __init__(self, proxy, gate, client):
        self._proxy, self._gate, self._client = proxy, gate, client

    async def wait(self):
        await self._gate.wait()
        if self._proxy._silent is self._client:
            self._proxy._held.set()
            await self._proxy._released.wait()


class _Session:
    """The messages of one connection, once it has started."""

    def __init__(self):
        self._rest = b""
        self._started = False
        self._bound = []

    def feed(self, data):
        """The groups that ended in these bytes."""
        self._rest += data
        groups = []
        if not self._started:  # without a type: SSLRequest, StartupMessage
            while len(self._rest) >= 4 and self._rest[:1] == b"\0":
                length = struct.unpack(">I", self._rest[:4])[0]
                if len(self._rest) < length:
                    return groups
                self._rest = self._rest[length:]
            self._started = bool(self._rest)
        while len(self._rest) >= 5:
            length = 1 + struct.unpack(">I", self._rest[1:5])[0]
            if len(self._rest) < length:
                break
            kind, body = self._rest[:1], self._rest[5:length]
            self._rest = self._rest[length:]
            if kind == b"B":
                self._bound.append(body.split(b"\0")[1].decode())
            elif kind == b"S":
                groups.append(self._bound)
                self._bound = []
        return groups
