"""The command `antiphon` inside this process, in a folder of its own and with nothing in its
environment.

It runs on a thread, and `antiphon serve` on the test's own loop, so that signals reach it. What a
process of its own shows besides (workers, kills, what is loaded, a terminal) the tests with
`tests/support/command.py` look at.
"""

import asyncio
import gc
import io
import logging
import os
import re
import resource
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from antiphon.cli import run
from antiphon_verify.cli import run as run_verify
from tests.support.command import PATIENCE, STALL, Done, environment

LOGGERS = ("", "antiphon", "antiphon.access", "uvicorn", "uvicorn.error")
"""The loggers that `antiphon serve` sets up."""

OTHERS = ("httpx2", "httpcore2", "openai", "aiohttp.access")
"""The loggers of what stands around the server in this process, whose lines are none of the
server's.
"""


class Output(io.BytesIO):
    """What a command writes, with a call for each piece."""

    def __init__(self, received: Callable[[], object] = lambda: None) -> None:
        super().__init__()
        self._received = received

    def write(self, data: Any) -> int:
        written = super().write(data)
        self._received()
        return written

    def close(self) -> None:
        """Stay readable when what wrote here is gone."""

    @property
    def text(self) -> str:
        return self.getvalue().decode()


@dataclass
class Serving:
    """A server that runs: the lines of its standard output so far, and its base URL."""

    out: Output
    err: Output
    written: asyncio.Event
    done: asyncio.Task[int]
    lines: list[str] = field(default_factory=list)
    url: str = ""

    async def stop(self, number: int) -> Done:
        """Send a signal and wait for the end."""
        self.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            code = await self.done
        # Other code of the test can hold this loop too: an SDK that builds its types at its first
        # request.
        return Done(code, self.out.text, STALL.sub("", self.err.text))

    def send_signal(self, number: int) -> None:
        assert not self.done.done(), "a signal would end the tests"
        signal.raise_signal(number)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of what it has written."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                self.written.clear()
                await self.written.wait()


async def antiphon(home: Path, *arguments: str, **variables: str) -> Done:
    """Run the command to its end."""
    return await _to_its_end(home, ("antiphon", *arguments), variables, run)


async def antiphon_verify(home: Path, *arguments: str, **variables: str) -> Done:
    """Run the command `antiphon-verify` to its end."""
    return await _to_its_end(home, ("antiphon-verify", *arguments), variables, run_verify)


async def _to_its_end(
    home: Path, command: tuple[str, ...], variables: dict[str, str], run: Callable[[], None]
) -> Done:
    out = Output()
    err = Output()
    with _surroundings(home, out, err, variables):
        async with asyncio.timeout(PATIENCE):
            code = await asyncio.to_thread(_run, command, run)
    return Done(code, out.text, err.text)


@asynccontextmanager
async def serving(home: Path, *arguments: str, **variables: str) -> AsyncIterator[Serving]:
    """Run `antiphon serve` until the end of the block; it is ready."""
    loop = asyncio.get_running_loop()
    written = asyncio.Event()
    out, err = (Output(lambda: loop.call_soon_threadsafe(written.set)) for _ in range(2))
    with _surroundings(home, out, err, variables):
        done = asyncio.create_task(asyncio.to_thread(_run, ("antiphon", "serve", *arguments), run))
        done.add_done_callback(lambda _: written.set())
        server = Serving(out, err, written, done)
        try:
            await server.until(lambda: "\ncurl " in out.text or done.done())
            assert not done.done(), f"the server ended: {err.text}"
            server.lines = out.text.splitlines()
            found = re.search(r"base URL (\S+?);", out.text)
            assert found is not None
            server.url = found[1]
            yield server
        finally:
            if not done.done():
                await server.stop(signal.SIGINT)


def _run(command: tuple[str, ...], run: Callable[[], None]) -> int:
    with mock.patch.object(sys, "argv", [*command]):
        try:
            run()
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else 1
        raise AssertionError("the command did not end")


@contextmanager
def _surroundings(
    home: Path, out: Output, err: Output, variables: dict[str, str]
) -> Iterator[None]:
    """The folder, the environment, the streams and the loop of a command; afterwards all is as it
    was.
    """
    loop = asyncio.get_running_loop()

    def here(main: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(main, loop).result()

    pytests = {name: value for name, value in os.environ.items() if name.startswith("PYTEST")}
    streams = (
        io.TextIOWrapper(stream, "utf-8", newline="", write_through=True) for stream in (out, err)
    )
    before = Path.cwd()
    with (
        _as_it_was(),
        mock.patch.dict(os.environ, environment(home, **pytests, **variables), clear=True),
        mock.patch.multiple(sys, **dict(zip(("stdout", "stderr"), streams, strict=True))),
        mock.patch("uvloop.run", here),
    ):
        os.chdir(home)
        try:
            yield
        finally:
            os.chdir(before)
            loop.set_exception_handler(None)


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Put back what a server sets in its process: the log, hooks, signals, the collector, the limit
    for files.
    """
    loggers = [logging.getLogger(name) for name in (*LOGGERS, *OTHERS)]
    stored = [(one, one.level, list(one.handlers), list(one.filters)) for one in loggers]
    hooks = threading.excepthook, sys.unraisablehook
    displayed = logging.logThreads, logging.logProcesses, logging.logMultiprocessing
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    thresholds = gc.get_threshold()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    logging.root.handlers.clear()
    for name in OTHERS:
        logging.getLogger(name).setLevel("WARNING")
    try:
        with mock.patch(
            "gc.freeze"
        ):  # nothing can thaw what a server freezes and leave the collected tests frozen
            yield
    finally:
        for one, level, handlers, filters in stored:
            one.setLevel(level)
            one.handlers[:] = handlers
            one.filters[:] = filters
        logging.captureWarnings(False)
        threading.excepthook, sys.unraisablehook = hooks
        logging.logThreads, logging.logProcesses, logging.logMultiprocessing = displayed
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        gc.set_threshold(*thresholds)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
