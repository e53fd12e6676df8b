"""The simulated event loop: one seed, one order, and processes that die between two callbacks."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from simulation.loop import START, SimulatedLoop, Stuck


def run(seed: int, make: Callable[[SimulatedLoop], Coroutine[Any, Any, None]]) -> SimulatedLoop:
    """Run a coroutine to its end."""
    loop = SimulatedLoop(random.Random(seed))
    loop.run_until_complete(make(loop))
    loop.close()
    return loop


def order(seed: int) -> tuple[list[int], str]:
    """The order in which ten tasks take turns, and the digest of the run."""
    seen: list[int] = []

    async def turn(number: int) -> None:
        await asyncio.sleep(0)
        seen.append(number)

    async def main(loop: SimulatedLoop) -> None:
        await asyncio.gather(*map(turn, range(10)))

    return seen, run(seed, lambda loop: main(loop)).digest


def test_a_seed_decides_the_order_of_tasks() -> None:
    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)[0]) == list(range(10))


def test_time_passes_only_when_no_process_can_run() -> None:
    async def main(loop: SimulatedLoop) -> None:
        await asyncio.sleep(3600)
        assert loop.time() == START + 3600

    run(1, main)


def test_a_killed_process_runs_nothing_more() -> None:
    ended: list[str] = []

    async def work() -> None:
        try:
            await asyncio.sleep(1)
        finally:
            ended.append("work")

    async def main(loop: SimulatedLoop) -> None:
        process = loop.new_process("server")
        loop.run_in(process, work())
        await asyncio.sleep(0.5)
        loop.kill(process)
        await asyncio.sleep(10)

    run(1, main)

    assert ended == []


def test_a_paused_process_continues_later() -> None:
    times: list[float] = []

    async def main(loop: SimulatedLoop) -> None:
        async def work() -> None:
            await asyncio.sleep(1)
            times.append(loop.time() - START)

        process = loop.new_process("server")
        task = loop.run_in(process, work())
        process.resumes_at = loop.time() + 20
        await task

    run(1, main)

    assert times == [21]


def test_each_process_has_its_own_wall_clock() -> None:
    times: list[float] = []

    async def main(loop: SimulatedLoop) -> None:
        async def work() -> None:
            times.append(loop.wall())

        for skew in (0.0, 90.0):
            process = loop.new_process("server")
            process.skew = skew
            await loop.run_in(process, work())

    run(1, main)

    assert times[1] - times[0] == 90


def test_a_function_in_a_thread_is_run_by_the_loop() -> None:
    async def main(loop: SimulatedLoop) -> None:
        assert await asyncio.to_thread(sum, [1, 2]) == 3
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(divmod, 1, 0)

    run(1, main)


def test_waiting_for_what_never_happens_is_found() -> None:
    loop = SimulatedLoop(random.Random(1))
    with pytest.raises(Stuck):
        loop.run_until_complete(loop.create_future())
    loop.close()
