"""Proxy: a TCP gate between broker and PostgreSQL, or between client and broker.

    forward()   bytes pass (the state it starts in)
    freeze()    a black hole: connections stay and new ones are taken, but nothing passes. With
                `replies_only` requests still reach the server and only the answers are held back:
                follow with cut() for "committed, but the client never heard"
    delay(s)    bytes pass `s` seconds later
    refuse()    new connections are refused by the kernel; the present ones go on
    cut()       resets every present connection; changes nothing for new ones
    cut_reply(text)  the next connection on which `text` is sent, and only it, is reset when the
                answer comes: the server has done what it was asked, and the client never hears.
                With `at_once` the client's side is reset as soon as the server has `text`: the
                server does not notice, not even a cut(), and may finish long after that

The states may be changed at any time from the test's thread; each call returns when it has taken
effect. One thread with an asyncio loop does the work.
"""

import asyncio
import socket
import struct
import threading


class Proxy:
    """A gate on a free port of the loopback to (`host`, `port`)."""

    def __init__(self, host, port):
        self.target = (host, port)
        self.host = "127.0.0.1"
        self.connections_taken = 0
        self._delay = 0.0
        self._writers = set()
        self._client_of = {}  # by the writer to the server
        self._doomed_text = None
        self._doomed_at_once = False
        self._doomed = set()
        self._replies_cut = 0
        self._server = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._call(self._make_gates())
        self.port = self._call(self._listen(0))

    def forward(self):
        """Everything passes, new connections are taken."""
        self._call(self._set(0.0, requests=True, replies=True))
        if self._server is None:
            self._call(self._listen(self.port))

    def freeze(self, replies_only=False):
        """Nothing passes (or no answers do)."""
        self._call(self._set(self._delay, requests=replies_only, replies=False))

    def delay(self, seconds):
        """Everything passes later."""
        self._call(self._set(seconds, requests=True, replies=True))

    def refuse(self):
        """No new connections."""
        self._call(self._stop_listening())

    def cut(self):
        """Resets every connection."""
        self._call(self._cut())

    def cut_reply(self, text, at_once=False):
        """Keeps the answer to what is sent next with `text` in it from the client."""
        self._call(self._doom(text, at_once))

    def replies_cut(self):
        """How many answers cut_reply() has kept from their clients."""
        return self._replies_cut

    def connections(self):
        """How many connections are open now."""
        return self._call(self._count())

    def close(self):
        """Ends everything."""
        if self._loop.is_closed():
            return
        self._call(self._shut_down())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(10)

    async def _make_gates(self):
        self._requests = asyncio.Event()
        self._replies = asyncio.Event()
        self._requests.set()
        self._replies.set()

    async def _set(self, seconds, requests, replies):
        self._delay = seconds
        for gate, is_open in ((self._requests, requests), (self._replies, replies)):
            if is_open:
                gate.set()
            else:
                gate.clear()

    async def _listen(self, port):
        self._server = await asyncio.start_server(self._serve, self.host, port)
        return self._server.sockets[0].getsockname()[1]

    async def _stop_listening(self):
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _cut(self):
        for writer in list(self._writers):
            _reset(writer)
        # Lets the loop close the sockets before the caller goes on.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    async def _count(self):
        return len(self._writers) // 2

    async def _shut_down(self):
        await self._stop_listening()
        await self._cut()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, client_reader, client_writer):
        self.connections_taken += 1
        self._writers.add(client_writer)
        server_writer = None
        try:
            await self._requests.wait()
            server_reader, server_writer = await asyncio.open_connection(*self.target)
            self._writers.add(server_writer)
            self._client_of[server_writer] = client_writer
            await asyncio.gather(self._pump(client_reader, server_writer, self._requests),
                                 self._pump(server_reader, client_writer, self._replies))
            client_writer.close()  # both sides have ended; what is buffered is still sent
            server_writer.close()
        except (OSError, asyncio.CancelledError):
            for writer in (client_writer, server_writer):
                if writer is not None:
                    _reset(writer)
        finally:
            self._writers.discard(client_writer)
            self._writers.discard(server_writer)
            self._client_of.pop(server_writer, None)
            self._doomed.discard(client_writer)

    async def _pump(self, reader, writer, gate):
        """Until end of file, which is passed on; an error ends both directions."""
        while True:
            data = await reader.read(65536)
            if self._delay > 0:
                await asyncio.sleep(self._delay)
            await gate.wait()
            if writer in self._doomed:
                self._replies_cut += 1
                raise ConnectionResetError("cut_reply")
            if not data:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            doomed = self._is_doomed(data, writer)
            writer.write(data)
            await writer.drain()
            if doomed and self._doomed_at_once:
                _reset(self._client_of[writer])
                self._writers.discard(writer)  # cut() leaves it alone
                return


    async def _doom(self, text, at_once):
        self._doomed_text = text
        self._doomed_at_once = at_once

    def _is_doomed(self, data, writer):
        """Whether these bytes, sent to a server, are those that cut_reply() waits for."""
        if self._doomed_text is None or writer not in self._client_of or self._doomed_text not in data:
            return False
        self._doomed_text = None
        self._doomed.add(self._client_of[writer])
        return True


def _reset(writer):
    """Closes with RST instead of FIN; harmless on what is closed already."""
    sock = writer.get_extra_info("socket")
    if sock is not None and not writer.transport.is_closing():
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass
    writer.transport.abort()
