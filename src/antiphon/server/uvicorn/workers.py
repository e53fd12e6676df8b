"""What the processes that share a port tell each other: a request reaches any one of them, and asks about all.

Each listens on a socket of its own in a folder that only their user may enter, and tells whoever connects about the
topic that is named in the first line. Who is asked by a client asks the others. A process that does not answer in
time is left out.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from antiphon.errors import log

PATIENCE = 1.0
"""Seconds that a worker has to answer."""

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Topic(Generic[T]):
    """Something that every process can tell of itself."""

    name: str
    type: type[T]
    tell: Callable[[], T]


class Workers:
    """The processes that share a folder, as one of them sees them: `name` is its own, `topics` what it can tell."""

    def __init__(self, folder: Path, name: str, *topics: Topic[Any]) -> None:
        self.name = name
        self._folder = folder
        self._topics = {topic.name: topic for topic in topics}
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Begin to answer the others. One that had the name before and died has left its socket behind."""
        path = self._folder / self.name
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, path)

    async def close(self) -> None:
        """Answer no longer."""
        if self._server is not None:
            self._server.close()
            (self._folder / self.name).unlink(missing_ok=True)

    async def others(self, topic: Topic[T]) -> list[T]:
        """Return what the others tell."""
        paths = [path for path in sorted(self._folder.iterdir()) if path.name != self.name]
        answers = await asyncio.gather(*(_ask(path, topic) for path in paths))
        return [told for answer in answers for told in answer]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name = (await reader.readline()).decode().strip()
            writer.write(_encode(self._topics[name].tell()))
            await writer.drain()
        except (OSError, KeyError):
            pass  # it waited no longer, or asks what this version does not know
        finally:
            writer.close()


async def _ask(path: Path, topic: Topic[T]) -> list[T]:
    """Return what it tells; nothing where it does not."""
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(topic.name.encode() + b"\n")
            return [msgspec.json.decode(await reader.read(), type=topic.type)]
    except (OSError, msgspec.DecodeError) as error:
        log.warning("Worker %s does not tell its %s (%s).", path.name, topic.name, type(error).__name__)
        return []
    finally:
        if writer is not None:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
