"""What the processes that share a port tell each other: a request for the metrics reaches any one of them.

Each listens on a socket of its own in a folder that only their user may enter, and answers whoever connects with what
it has counted. Who is asked by a client asks the others. A process that does not answer in time is left out.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from antiphon.errors import log
from antiphon.measures import Family

PATIENCE = 1.0
"""Seconds that a sibling has to answer."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Family]).decode


class Siblings:
    """The processes that share a folder, as one of them sees them: `name` is its own, `count` what it answers."""

    def __init__(self, folder: Path, name: str, count: Callable[[str], list[Family]]) -> None:
        self._folder, self._name, self._count = folder, name, count
        self._server: asyncio.Server | None = None

    def own(self) -> list[Family]:
        """Return what this process has counted."""
        return self._count(self._name)

    async def start(self) -> None:
        """Begin to answer the others. One that had the name before and died has left its socket behind."""
        path = self._folder / self._name
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, path)

    async def close(self) -> None:
        """Answer no longer."""
        if self._server is not None:
            self._server.close()
            (self._folder / self._name).unlink(missing_ok=True)

    async def others(self) -> list[Family]:
        """Return what the others have counted."""
        paths = [path for path in sorted(self._folder.iterdir()) if path.name != self._name]
        return [family for found in await asyncio.gather(*map(_ask, paths)) for family in found]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            writer.write(_encode(self.own()))
            await writer.drain()
        except OSError:
            pass  # it waited no longer
        finally:
            writer.close()


async def _ask(path: Path) -> list[Family]:
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(path)
            return _decode(await reader.read())
    except (OSError, msgspec.DecodeError) as error:
        log.warning("Worker %s does not tell what it has counted (%s).", path.name, type(error).__name__)
        return []
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
