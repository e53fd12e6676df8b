"""Ten times more than the backend can take (cases/faults.md, row 67): it goes on at its best, the
rest is told at once.

60 s in `make test-faults`. A few in `make test-system`, with half of that: other tests have the
machine too, a refusal may take longer, and the best of some tries counts.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.command import Serving, serving
from tests.support.raw_http import received, speaking
from tests.support.replay import completion

IS_LONG = "ANTIPHON_NEMESIS_SECONDS" in os.environ
SECONDS = min(60.0, float(os.environ.get("ANTIPHON_NEMESIS_SECONDS", "4")))
PEAK_SECONDS = 10.0 if IS_LONG else 2.0

SLOTS = 4
QUEUE = 8
TAKES = 0.1
"""Seconds that the backend has for an answer."""

CAPACITY = SLOTS / TAKES
TIMES = 10 if IS_LONG else 5
TRIES = 1 if IS_LONG else 4

GOODPUT = 0.9
REFUSED_IN = 0.05 if IS_LONG else 0.5
"""Seconds in which 99 of 100 refusals must have come."""
MEMORY = 1.5

BODY = json.dumps({"model": "m", "input": "Hi"}).encode()


@dataclass
class Tally:
    """What came of the requests. `refused` holds the seconds that each refusal took."""

    answered: int = 0
    refused: list[float] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


class Clients:
    """Requests over connections that are kept, by hand: a client library would be busier than the
    server.
    """

    def __init__(self, port: int) -> None:
        self._port = port
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self.tally = Tally()

    async def send_request(self) -> None:
        """Send one request and count its answer."""
        began = time.perf_counter()
        reader, writer = (
            self._idle.pop()
            if self._idle
            else await asyncio.open_connection("127.0.0.1", self._port)
        )
        head = (
            b"POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        )
        writer.write(head + b"content-length: %d\r\n\r\n" % len(BODY) + BODY)
        stated, body = await received(reader)
        self._idle.append((reader, writer))
        status = int(stated[9:12])
        if status == 200 and b'"completed"' in body:
            self.tally.answered += 1
        elif (
            status == 503 and b"retry-after: " in stated.lower() and b"server_is_overloaded" in body
        ):
            self.tally.refused.append(time.perf_counter() - began)
        else:
            self.tally.odd.append(f"{stated!r} {body!r}")

    async def one_after_the_other(self, seconds: float) -> None:
        """Ask as soon as there is an answer."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            await self.send_request()

    async def all_the_time(self, rate: float, seconds: float) -> None:
        """Ask so many times a second, whatever becomes of it."""
        began = time.monotonic()
        requested = 0
        tasks = set[asyncio.Task[None]]()
        while (passed := time.monotonic() - began) < seconds:
            while requested < passed * rate:
                requested += 1
                task = asyncio.create_task(self.send_request())
                tasks.add(task)
                task.add_done_callback(tasks.discard)
            await asyncio.sleep(0.005)
        await asyncio.gather(*tasks)

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()


@asynccontextmanager
async def behind_a_slow_backend(folder: Path) -> AsyncIterator[Serving]:
    """A server whose backend takes its time."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        body = completion("Hello")
        while True:
            head, _ = await received(reader)
            await asyncio.sleep(0 if head.startswith(b"GET") else TAKES)
            stated = b'{"data": [{"id": "m"}]}' if head.startswith(b"GET") else body
            lines = (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            )
            writer.write(lines % len(stated) + stated)

    async with speaking(answer) as url:
        backend = (
            f'[[backends]]\nurl = "{url}"\nname = "slow"\nconcurrency = {SLOTS}\nqueue = {QUEUE}\n'
        )
        (folder / "antiphon.toml").write_text(backend)
        async with serving(folder, "--port", "0", "--store", f"sqlite://{folder}/a.db") as server:
            yield server


def memory(server: Serving) -> int:
    """The bytes that the server's process has in memory."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * next(
        int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")
    )


@pytest.mark.timeout(SECONDS * 2 + 120)
async def test_many_times_too_much_costs_next_to_nothing_of_what_can_be_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(TRIES):
        folder = tmp_path / str(number)
        folder.mkdir()
        good, most, grown = await crowded(folder, capsys)
        if good >= GOODPUT and most <= REFUSED_IN:
            break
    assert good >= GOODPUT
    assert most <= REFUSED_IN
    assert grown <= MEMORY


async def crowded(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[float, float, float]:
    """Return which part of the best rate is answered, in how many seconds 99 % are refused, and how
    memory grows.
    """
    async with behind_a_slow_backend(folder) as server:
        port = int(server.url.split(":")[2].split("/")[0])
        peak = Clients(port)
        crowd = Clients(port)
        await asyncio.gather(
            *(peak.one_after_the_other(PEAK_SECONDS) for _ in range(SLOTS + QUEUE // 2))
        )
        before = memory(server)
        await crowd.all_the_time(TIMES * CAPACITY, SECONDS)
        after = memory(server)
        peak.close()
        crowd.close()
    best = peak.tally.answered / PEAK_SECONDS
    good = crowd.tally.answered / SECONDS
    assert crowd.tally.odd == []
    refused = sorted(crowd.tally.refused)
    assert len(refused) > crowd.tally.answered
    half, most = (refused[int(len(refused) * share)] for share in (0.5, 0.99))
    with capsys.disabled():
        print(
            f"\n{TIMES} times {CAPACITY:.0f}/s for {SECONDS:.0f} s: {good:.1f}/s answered, "
            f"{best:.1f}/s at the peak; "
            f"{len(refused)} refused, half in {half * 1e3:.1f} ms and 99 % in {most * 1e3:.0f} ms; "
            f"memory {after / before:.2f} times"
        )

    return good / best, most, after / before
