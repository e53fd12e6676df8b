"""A program for untrusted data: what it receives, what it may return, and how it ends."""

import asyncio
import gc
import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from antiphon.sharing.child import Child, ChildError, child_turns
from antiphon.sharing.scheduler import FairScheduler
from tests.support.waiting import let_others_run, until


def child(
    code: str, *, seconds: float = 30.0, most: int = 10_000_000, turns: FairScheduler | None = None
) -> Child:
    return Child(("-c", code), turns or child_turns(), seconds=seconds, most_output=most)


ECHO = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"


async def test_a_program_receives_every_part_and_returns_what_it_writes() -> None:
    part = b"x" * 3_000_000
    assert await child(ECHO).run(b"head\n", part, b"", b"end") == b"head\n" + part + b"end"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "broken"),
        ("raise SystemExit(3)", "broken"),
        ("import sys\nwhile True: sys.stdout.write('x' * 1000)", "broken"),
    ],
)
async def test_a_program_that_fails_returns_nothing(code: str, reason: str) -> None:
    with pytest.raises(ChildError) as raised:
        await child(code, most=1_000_000).run(b"x" * 2_000_000)
    assert raised.value.reason == reason


async def test_a_program_that_reads_nothing_may_still_answer() -> None:
    assert await child("print('done')").run(b"x" * 5_000_000) == b"done\n"


@pytest.mark.wide
async def test_a_program_that_never_ends_is_killed() -> None:
    with pytest.raises(ChildError) as raised:
        await child("while True: pass", seconds=0.5).run(b"")
    assert raised.value.reason == "slow"


async def test_a_program_is_ended_with_the_request_that_needs_it(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    code = (
        "import os, pathlib, time; "
        f"pathlib.Path({str(begun)!r}).write_text(str(os.getpid())); time.sleep(60)"
    )
    running = asyncio.create_task(child(code).run(b""))
    await until(lambda: begun.exists() and begun.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text()), 0)


async def test_operations_beyond_the_queue_are_refused() -> None:
    turns = FairScheduler(1, 0)
    await turns.enter()
    with pytest.raises(ChildError) as raised:
        await child(ECHO, turns=turns).run(b"")
    assert raised.value.reason == "busy"


@pytest.mark.parametrize("cpus", [1, 2, 8])
def test_one_tenant_leaves_a_child_to_others(cpus: int) -> None:
    turns = child_turns(cpus)
    assert sum(turns.take("a") for _ in range(100)) == max(2, cpus)
    assert turns.take("b")


async def test_a_program_knows_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "a-key")
    environment = await child("import os; print(dict(os.environ))").run(b"")
    assert b"PATH" in environment
    assert b"a-key" not in environment


async def parts_of(*parts: bytes, error: Exception | None = None) -> AsyncGenerator[bytes, None]:
    for part in parts:
        yield part
    if error is not None:
        raise error


async def test_a_program_receives_parts_as_they_are_read() -> None:
    part = b"x" * 3_000_000
    assert (
        await child(ECHO).run(b"head\n", parts_of(part, b"", b"end")) == b"head\n" + part + b"end"
    )


async def test_parts_that_cannot_be_read_are_the_error_of_the_caller() -> None:
    with pytest.raises(LookupError, match="no such part"):
        await child(ECHO).run(b"head", parts_of(b"x", error=LookupError("no such part")))


async def test_a_program_that_ends_early_leaves_the_parts_closed() -> None:
    parts = parts_of(*[b"x" * 1_000_000] * 9)
    assert await child("print('done')").run(parts) == b"done\n"
    with pytest.raises(StopAsyncIteration):
        await anext(parts)


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("polls", [0, 1, 2, 3, 5, 8, 13])
@pytest.mark.filterwarnings("error")
async def test_however_often_it_is_cancelled_a_program_has_ended_and_its_pipes_are_closed(
    polls: int,
) -> None:
    """Cancelled again and again from so many turns of the loop on: while it starts, receives, and
    ends.
    """
    turns = child_turns()
    before = open_files()
    running = asyncio.create_task(
        child("import time; time.sleep(60)", turns=turns).run(b"x" * 5_000_000)
    )
    await let_others_run(polls)
    while not running.done():
        running.cancel()
        await let_others_run()
    assert running.cancelled()
    assert turns.free == child_turns().free
    gc.collect()  # a transport that was left open warns here
    assert open_files() <= before + 1  # the loop's watch of children stays
