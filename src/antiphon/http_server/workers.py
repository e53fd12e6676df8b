"""Exchange of state between the processes of one port: a request reaches one of them, and can be
about all.

Each process listens on its own socket in a folder that only their user can enter, and answers a
connection with the topic in the first line. The process with the client's request queries the
others. A process that does not answer in time is omitted.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

PATIENCE = 1.0
"""Seconds that a worker has to answer."""

HIDDEN = "."
"""What the name of a socket begins with that does not listen yet."""

T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class WorkerTopic(Generic[T]):
    """A kind of state that every process can report."""

    name: str
    type: type[T]
    report: Callable[[], T]


class Workers:
    """The processes that share a folder, seen from one of them: `name` is its own, `topics` its
    reports.

    `log` receives a warning for each process that does not answer.
    """

    def __init__(
        self, folder: Path, name: str, *topics: WorkerTopic[Any], log: logging.Logger
    ) -> None:
        self.name = name
        self._folder = folder
        self._topics = {topic.name: topic for topic in topics}
        self._log = log
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Start to answer the others.

        A dead process with the same name may have left its socket. The others see the new one only
        once it listens: before that it would refuse their requests.
        """
        path = self._folder / self.name
        hidden = path.with_name(f"{HIDDEN}{self.name}")
        hidden.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._answer, hidden)
        hidden.rename(path)

    async def close(self) -> None:
        """Stop answering."""
        if self._server is not None:
            self._server.close()
            (self._folder / self.name).unlink(missing_ok=True)

    async def others(self, topic: WorkerTopic[T]) -> list[T]:
        """Return the reports of the others."""
        paths = [
            path
            for path in sorted(self._folder.iterdir())
            if path.name != self.name and not path.name.startswith(HIDDEN)
        ]
        answers = await asyncio.gather(*(self._send_request(path, topic) for path in paths))
        return [reported for answer in answers for reported in answer]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            name = (await reader.readline()).decode().strip()
            writer.write(_encode(self._topics[name].report()))
            await writer.drain()
        except (OSError, KeyError):
            pass  # the other process stopped waiting, or requests an unknown topic
        finally:
            writer.close()

    async def _send_request(self, path: Path, topic: WorkerTopic[T]) -> list[T]:
        """Return its report, or nothing."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(topic.name.encode() + b"\n")
                return [msgspec.json.decode(await reader.read(), type=topic.type)]
        except (OSError, msgspec.DecodeError) as error:
            self._log.warning(
                "Worker %s does not report its %s (%s).",
                path.name,
                topic.name,
                type(error).__name__,
            )
            return []
        finally:
            if writer is not None:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
