"""A long way to a box, on loopback: bytes arrive half a round trip later, until it is cut."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def wan(target: tuple[str, int], rtt: float) -> Iterator[Wan]:
    """Yield a proxy to the target that runs until the block ends."""
    made = Wan(target, rtt)
    made.start()
    try:
        yield made
    finally:
        made.stop()


class Wan:
    """
    A TCP proxy with a round trip of ``rtt`` seconds, in a thread of its own.

    Each byte is late by half of it in each direction, and a connection's first by one and a half,
    as over a real path. It models no loss and no limit of speed.
    """

    def __init__(self, target: tuple[str, int], rtt: float) -> None:
        self._target, self.rtt = target, rtt
        self.port = 0
        self.turns = 0
        """Times that the direction changed from down to up: a floor on round trips."""
        self.connections = 0
        self._up = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin to listen."""
        self._thread.start()
        self._ready.wait()

    def stop(self) -> None:
        """End everything."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def cut(self) -> None:
        """End every connection at once."""
        for task in list(self._tasks):
            self._loop.call_soon_threadsafe(task.cancel)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        self._loop.run_forever()
        server.close()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ends = [writer]
        try:
            await asyncio.sleep(self.rtt)
            below, above = await asyncio.open_connection(*self._target)
            ends.append(above)
            await asyncio.gather(
                self._pass(reader, above, up=True), self._pass(below, writer, up=False)
            )
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            for each in ends:
                each.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, up: bool
    ) -> None:
        late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def send() -> None:
            while True:
                when, block = await late.get()
                await asyncio.sleep(max(0.0, when - self._loop.time()))
                if not block:
                    with contextlib.suppress(OSError):
                        writer.write_eof()
                    return
                if up and not self._up:
                    self.turns += 1
                self._up = up
                writer.write(block)
                await writer.drain()

        sending = asyncio.ensure_future(send())
        while block := await reader.read(1 << 16):
            late.put_nowait((self._loop.time() + self.rtt / 2, block))
        late.put_nowait((self._loop.time() + self.rtt / 2, b""))
        await sending
