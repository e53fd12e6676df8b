"""Long lists let others have the event loop."""

import asyncio

import pytest

from antiphon.tools.mcp import slices
from antiphon.tools.mcp.slices import in_slices
from tests.support.waiting import let_others_run


async def test_others_have_the_loop_between_two_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    turns = 0

    def clock() -> float:
        nonlocal now
        now += slices.SLICE / 3
        return now

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await let_others_run()

    monkeypatch.setattr(slices, "monotonic", clock)
    alongside = asyncio.create_task(other())
    assert [one async for one in in_slices(range(100))] == list(range(100))
    alongside.cancel()
    assert turns >= 20


async def test_a_short_list_is_read_at_once() -> None:
    alongside = asyncio.create_task(let_others_run())
    assert [one async for one in in_slices("abc")] == ["a", "b", "c"]
    assert not alongside.done()
    await alongside
